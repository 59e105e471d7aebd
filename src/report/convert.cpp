#include "convert.h"

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/run_program.h>
#include <lockstep/base/text.h>

namespace lockstep::report {

std::string svg_to_png(const std::string& svg) {
  constexpr std::chrono::seconds kLimit(60);
  constexpr std::size_t kMostFound = 500;
  ProgramResult result = run_program({"rsvg-convert", "--zoom=2", "--format=png"}, {.input = svg, .time = kLimit});
  if (!result.found) {
    throw RuntimeError({.message = "pictures need rsvg-convert, which is not in PATH",
                        .next = "install the package librsvg2-bin (librsvg2-tools with dnf), or leave --png away"});
  }
  if (result.timed_out) throw TimeoutError(fmt::format("rsvg-convert did not end within {} s", kLimit.count()));
  if (!result.complaint.empty() || result.output.empty()) {
    throw RuntimeError({.message = "rsvg-convert made no picture",
                        .found = result.errors.substr(0, kMostFound),
                        .next = "try it without --png; the page has the same plots"});
  }
  return std::move(result.output);
}

}  // namespace lockstep::report
