// The word of --bind.
#include <array>
#include <string_view>
#include <utility>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/launch/binding.h>

namespace lockstep::launch {
namespace {

constexpr std::string_view kMasks = "masks=";
constexpr std::size_t kMostDigits = 4096;  // of a mask; no machine has as many hardware threads as four times that

const std::array<std::pair<std::string, BindKind>, 5> kWords = {{{"auto", BindKind::kAuto},
                                                                 {"core", BindKind::kCore},
                                                                 {"numa", BindKind::kNuma},
                                                                 {"socket", BindKind::kSocket},
                                                                 {"none", BindKind::kNone}}};

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::vector<int> parse_mask(const std::string& text) {
  const UsageError wrong({.message = "--bind masks= is not understood",
                          .found = "'" + text + "'",
                          .expected = "hexadecimal masks, one for each rank of a node, such as masks=0xff0,0xff00000"});
  const std::size_t begin = text.starts_with("0x") || text.starts_with("0X") ? 2 : 0;
  if (begin == text.size() || text.size() > kMostDigits) throw wrong;
  std::vector<int> cpus;
  int cpu = 0;
  for (std::size_t i = text.size(); i-- > begin; cpu += 4) {
    const int bits = digit(text[i]);
    if (bits < 0) throw wrong;
    for (int bit = 0; bit < 4; ++bit) {
      if ((bits >> bit & 1) != 0) cpus.push_back(cpu + bit);
    }
  }
  return cpus;
}

}  // namespace

Bind parse_bind(const std::string& word) {
  if (word.starts_with(kMasks)) {
    std::string list = word.substr(kMasks.size());
    if (list.size() >= 2 && list.front() == '[' && list.back() == ']') list = list.substr(1, list.size() - 2);
    Bind bind{.kind = BindKind::kMasks};
    for (const std::string& mask : split(list, ',')) bind.masks.push_back(parse_mask(mask));
    return bind;
  }
  std::vector<std::string> names = {"masks=..."};
  for (const auto& [name, kind] : kWords) {
    if (word == name) return {.kind = kind};
    names.push_back(name);
  }
  throw UsageError({.message = "--bind does not know '" + word + "'" + did_you_mean(word, names),
                    .expected = "auto, core, numa, socket, none or masks=0xff0,0xff00000"});
}

}  // namespace lockstep::launch
