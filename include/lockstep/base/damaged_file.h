#pragma once
#include <string>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep {

// "'FILE' WHAT": a file whose content is not what it should be, so that only another copy of it helps.
inline UsageError damaged_file(const std::string& file, const std::string& what, std::string found = "",
                               std::string expected = "") {
  return UsageError({.message = fmt::format("'{}' {}", file, what),
                     .found = std::move(found),
                     .expected = std::move(expected),
                     .next = "bring the file again from where it came"});
}

}  // namespace lockstep
