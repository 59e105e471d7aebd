// How long a picture's way from its pixels to normalized floats takes on one core: for each case the least time of many
// rounds. With the name of a JPEG file, also the whole way from its bytes.
//
// usage: transforms_bench [FILE.jpg]
#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/data/pipeline.h>

namespace {

using namespace lockstep::data;

const Normalization kImageNet = {.mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}};

std::vector<std::byte> noise(ImageSize size) {
  RandomStream random(1, 0, 0);
  std::vector<std::byte> pixels(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) * 3);
  for (std::byte& value : pixels) value = static_cast<std::byte>(random.below(256));
  return pixels;
}

Picture picture_of(const std::vector<std::byte>& pixels, ImageSize size) {
  Picture picture;
  picture.form = Picture::Form::kPixels;
  picture.bytes = pixels;
  picture.width = size.width, picture.height = size.height, picture.channels = 3;
  return picture;
}

void measure(const char* what, const Picture& picture, ImageSize size, const Pipeline& pipeline) {
  constexpr int kRounds = 200, kSamples = 64;
  const ImageSize made = pipeline.output_size(size);
  std::vector<float> slot(static_cast<std::size_t>(made.width) * static_cast<std::size_t>(made.height) * 3);
  Pipeline::Scratch scratch;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
      pipeline.run(picture, RandomStream(1, 0, sample), scratch, slot);
    }
    const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - start;
    best = std::min(best, passed.count() / kSamples);
  }
  fmt::print("{:<60} {:>8.1f} us\n", what, best);
}

int body(int argc, char** argv) {
  const TransformPtr flip = random_horizontal_flip(), normalized = normalize(kImageNet);
  const Pipeline training({random_resized_crop({.size = {224, 224}}), flip, normalized});
  const Pipeline half({random_resized_crop({.size = {224, 224}, .scale = {0.5, 0.5}}), flip, normalized});
  const Pipeline validation({resize(256), center_crop({224, 224}), normalized});
  const Pipeline cifar({random_crop({.size = {32, 32}, .padding = {4, 4, 4, 4}}), flip, normalized});
  const Pipeline jitter({random_resized_crop({.size = {224, 224}}), flip,
                         color_jitter({.brightness = Range{0.6, 1.4},
                                       .contrast = Range{0.6, 1.4},
                                       .saturation = Range{0.6, 1.4},
                                       .hue = Range{-0.1, 0.1}}),
                         normalized});
  const Pipeline augment({random_resized_crop({.size = {224, 224}}), flip, rand_augment({}), normalized});

  const ImageSize photo{500, 375}, raw{341, 256}, small{32, 32};
  const auto photo_pixels = noise(photo), raw_pixels = noise(raw), small_pixels = noise(small);
  measure("500x375, random resized crop 224, flip, normalize", picture_of(photo_pixels, photo), photo, training);
  measure("500x375, crop of half the area to 224", picture_of(photo_pixels, photo), photo, half);
  measure("500x375, resize 256, center crop 224", picture_of(photo_pixels, photo), photo, validation);
  measure("341x256, random resized crop 224", picture_of(raw_pixels, raw), raw, training);
  measure("32x32, pad 4, crop, flip", picture_of(small_pixels, small), small, cifar);
  measure("500x375, random resized crop 224, color jitter", picture_of(photo_pixels, photo), photo, jitter);
  measure("500x375, random resized crop 224, RandAugment", picture_of(photo_pixels, photo), photo, augment);
  if (argc > 1) {
    const std::string file = lockstep::files::read(argv[1]);
    Picture encoded;
    encoded.bytes = std::as_bytes(std::span(file));
    measure("the file, random resized crop 224", encoded, picture_size(encoded.bytes), training);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
