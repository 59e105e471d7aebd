// Options of transforms that make no sense are refused in the same words everywhere.
#pragma once
#include <string>

#include <lockstep/data/transform.h>

namespace lockstep::data {

// The largest side of anything that is made from a picture: beyond it no product of two sides overflows.
inline constexpr int kLargestSide = 1 << 20;

void require_size(const char* transform, ImageSize size);
void require_probability(const char* transform, double probability);
// Finite, in order, and from `low` up to `high`.
void require_range(const char* transform, const char* what, Range range, double low, double high);
[[noreturn]] void refuse_option(const char* transform, const std::string& what, const std::string& found,
                                const std::string& expected);

}  // namespace lockstep::data
