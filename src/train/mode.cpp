#include <lockstep/train/mode.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::train {

// In the order of the enumeration.
const std::vector<std::string>& mode_names() {
  static const std::vector<std::string> names = {"ddp",  "optimizer", "zero", "data-parallel",
                                                 "sync", "barrier",   "none"};
  return names;
}

Mode parse_mode(const std::string& name) {
  const auto& names = mode_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Mode>(found - names.begin());
  throw UsageError({.message = fmt::format("there is no mode '{}'{}", name, did_you_mean(name, names)),
                    .expected = fmt::format("one of {}", fmt::join(names, ", "))});
}

std::string to_text(Mode mode) {
  return mode_names()[static_cast<std::size_t>(mode)];
}

}  // namespace lockstep::train
