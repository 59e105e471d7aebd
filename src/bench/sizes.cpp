// Sizes as people write them.
#include <charconv>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/bench/all_reduce.h>

namespace lockstep::bench {
namespace {

constexpr std::int64_t kLargest = std::int64_t{64} << 30;

UsageError not_understood(const std::string& text) {
  return UsageError({.message = "the sizes are not understood",
                     .found = text,
                     .expected = "such as 4K:128M, 64K or 1M,25M; multiples of 4 bytes, at most 64G"});
}

std::int64_t parse_size(const std::string& word, const std::string& all) {
  std::int64_t value = 0;
  const char* end = word.data() + word.size();
  auto [stop, error] = std::from_chars(word.data(), end, value);
  int shift = 0;
  if (stop != end && *stop == 'K') shift = 10;
  if (stop != end && *stop == 'M') shift = 20;
  if (stop != end && *stop == 'G') shift = 30;
  if (shift != 0) ++stop;
  if (error != std::errc{} || stop != end || value <= 0 || value > kLargest >> shift) throw not_understood(all);
  value <<= shift;
  if (value % static_cast<std::int64_t>(sizeof(float)) != 0) throw not_understood(all);
  return value;
}

}  // namespace

std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (const std::string& item : split(text, ',')) {
    const auto ends = split(item, ':');
    if (ends.size() > 2) throw not_understood(text);
    const std::int64_t first = parse_size(ends.front(), text);
    const std::int64_t last = parse_size(ends.back(), text);
    if (last < first) throw not_understood(text);
    for (std::int64_t size = first; size <= last; size *= 2) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace lockstep::bench
