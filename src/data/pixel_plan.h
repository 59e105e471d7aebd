#pragma once
#include <optional>
#include <vector>

#include <lockstep/data/operation.h>
#include <lockstep/data/transform.h>

namespace lockstep::data {

// Where the pixels of a picture that is only cropped, padded and flipped come from: for each column of the result, and
// each row, the one of the source, or -1 for a black one.
struct PixelPlan {
  std::vector<int> x, y;
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
