// How long reading a packed file takes: opening it, and every sample in order and in random order, best of five rounds
// each, with the file in the page cache and without. A sample counts as read when its checksum was compared.
//
// usage: packed_bench FILE.lsp        measure
//        packed_bench FILE.lsp N      first make a file of N samples of 16 bytes
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/files.h>
#include <lockstep/data/packed.h>
#include <lockstep/data/packed_writer.h>
#include <lockstep/data/random_stream.h>

namespace {

using namespace lockstep;
using namespace lockstep::data;

constexpr int kRounds = 5;

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void make(const std::string& path, std::int64_t samples) {
  const std::string bytes(16, 's');
  PackedWriter writer(path, {"one"}, files::sha256("synthetic"));
  for (std::int64_t i = writer.position(); i < samples; ++i) {
    writer.add({.bytes = std::as_bytes(std::span(bytes))}, fmt::format("n01440764/n01440764_{}.JPEG", i));
  }
  writer.finish();
}

// Works only on pages that nobody has mapped, so before the file is opened.
void forget(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

struct Times {
  double open = std::numeric_limits<double>::max(), read = std::numeric_limits<double>::max();
};

Times measure(const std::string& path, const std::vector<std::int64_t>& order, bool cold) {
  Times best;
  for (int round = 0; round < kRounds; ++round) {
    if (cold) forget(path);
    std::optional<PackedSet> set;
    best.open = std::min(best.open, seconds_of([&] { set.emplace(path); }));
    const auto read_all = [&] {
      for (const std::int64_t index : order) set->get(index);
    };
    if (!cold) read_all();  // as in every epoch but the first
    best.read = std::min(best.read, seconds_of(read_all));
  }
  return best;
}

int body(int argc, char** argv) {
  if (argc < 2 || argc > 3) throw UsageError("usage: packed_bench FILE.lsp [N]");
  const std::string path = argv[1];
  if (argc == 3) make(path, std::stoll(argv[2]));
  std::vector<std::int64_t> order(static_cast<std::size_t>(PackedSet(path).size()));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::int64_t> shuffled = order;
  std::shuffle(shuffled.begin(), shuffled.end(), RandomStream(0, 0, RandomStream::kOrder));
  fmt::print("{} samples, {:.1f} MB\n", order.size(), static_cast<double>(std::filesystem::file_size(path)) / 1e6);
  for (const bool cold : {false, true}) {
    const Times in_order = measure(path, order, cold), random = measure(path, shuffled, cold);
    const auto count = static_cast<double>(order.size());
    fmt::print("{}: open {:.1f} ms; in order {:.2f} us a sample, random {:.2f} us, ratio {:.2f}\n",
               cold ? "not in memory" : "in memory", in_order.open * 1e3, in_order.read / count * 1e6,
               random.read / count * 1e6, random.read / in_order.read);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
