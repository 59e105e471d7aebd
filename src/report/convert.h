#pragma once
#include <string>

namespace lockstep::report {

// A picture as PNG, at twice its size, by rsvg-convert, which has a minute for it. Throws RuntimeError when that
// program is missing, fails or takes longer.
std::string svg_to_png(const std::string& svg);

}  // namespace lockstep::report
