#pragma once
#include <vector>

#include "scale.h"

namespace lockstep::report {

// The points that make the same picture: of those that share a column of pixels the first, the last, the lowest and the
// highest, and a gap where there was one. All are points of `points`, in their order. `points` have rising x.
std::vector<Point> decimate(const std::vector<Point>& points, const Scale& x);

}  // namespace lockstep::report
