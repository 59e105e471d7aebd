// How long decoding takes: each picture whole, and the part of it that a random resized crop to 224 pixels needs, in
// one run, best of five rounds.
//
// usage: decode_bench FOLDER
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/data/decode.h>
#include <lockstep/data/random_stream.h>

namespace {

using namespace lockstep::data;

constexpr int kRounds = 5;
constexpr int kCropsOfEach = 10;

// As torchvision's RandomResizedCrop draws it, but for its attempts: a crop that does not fit is made smaller.
Region random_crop(ImageSize size, RandomStream& random) {
  const double area = size.width * size.height * random.uniform(0.08, 1);
  const double ratio = std::exp(random.uniform(std::log(3.0 / 4), std::log(4.0 / 3)));
  const int width = std::clamp(static_cast<int>(std::lround(std::sqrt(area * ratio))), 1, size.width);
  const int height = std::clamp(static_cast<int>(std::lround(std::sqrt(area / ratio))), 1, size.height);
  const auto place = [&](int room) { return static_cast<int>(random.below(static_cast<std::uint64_t>(room) + 1)); };
  return {.left = place(size.width - width), .top = place(size.height - height), .width = width, .height = height};
}

int shrink_for(const Region& region) {
  int shrink = 1;
  while (shrink < 8 && std::min(region.width, region.height) >= 224 * 2 * shrink) shrink *= 2;
  return shrink;
}

// The least time of a round, in microseconds for each call.
template <typename Work>
double measure(std::size_t calls, const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - start;
    best = std::min(best, passed.count() / static_cast<double>(calls));
  }
  return best;
}

int body(int argc, char** argv) {
  if (argc != 2) throw lockstep::UsageError("usage: decode_bench FOLDER");
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1])) {
    if (entry.is_regular_file()) files.push_back(lockstep::files::read(entry.path()));
  }
  if (files.empty()) throw lockstep::UsageError(fmt::format("'{}' holds no files", argv[1]));

  Image image;
  const auto bytes_of = [](const std::string& file) { return std::as_bytes(std::span(file)); };
  const double header = measure(files.size(), [&] {
    for (const std::string& file : files) picture_size(bytes_of(file));
  });
  const double whole = measure(files.size(), [&] {
    for (const std::string& file : files) decode(bytes_of(file), 3, image);
  });
  const double part = measure(files.size() * kCropsOfEach, [&] {
    RandomStream random(1, 0, 0);
    for (int crop = 0; crop < kCropsOfEach; ++crop) {
      for (const std::string& file : files) {
        const Region region = random_crop(picture_size(bytes_of(file)), random);
        decode(bytes_of(file), region, shrink_for(region), 3, image);
      }
    }
  });
  fmt::print("{} pictures: header {:.1f} us, whole {:.0f} us, random resized crop {:.0f} us\n", files.size(), header,
             whole, part);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
