#pragma once
#include <optional>
#include <vector>

#include <lockstep/data/operation.h>
#include <lockstep/data/transform.h>

namespace lockstep::data {

// Where the pixels of a picture that is only cropped, padded and flipped come from: column x of the result is column
// x.first + x.step * column of the source, and rows likewise.
struct PixelPlan {
  struct Axis {
    std::int64_t first = 0;
    std::int64_t step = 1;  // 1, or -1 when it is mirrored
    std::int64_t count = 0;
  };
  Axis x, y;
  std::optional<Erase> erasure;
};

// Plans what transforms do to pictures that have the channels of the result already.
class PixelPlanner {
 public:
  // Throws UsageError for transforms that do more than that, and for a second one that erases.
  explicit PixelPlanner(Transforms transforms);

  PixelPlan plan(ImageSize size, RandomStream random) const;

 private:
  Transforms transforms_;
};

}  // namespace lockstep::data
