// How the threads share a product of matrices.
#pragma once
#include <algorithm>
#include <cstdint>

#include <ATen/Parallel.h>

#include "../parallel.h"
#include "divide_up.h"

namespace lockstep::kernels {

// What one thread computes of a product: tiles of rows by panels of columns.
struct Share {
  std::int64_t first_row, end_row, first_panel, end_panel;
};

// A product's tiles, shared evenly among the threads: so many groups of panels, each over all rows, one after the
// other.
class Shares {
 public:
  Shares(std::int64_t rows, std::int64_t panels) : rows_(rows), panels_(panels) {
    // Groups as wide as a core's caches hold; narrower ones where rows alone would not give each thread its share.
    const std::int64_t wanted = divide_up(16 * at::get_num_threads(), rows_);
    group_ = std::clamp<std::int64_t>(panels_ / wanted, 1, kGroup);
  }

  template <typename Body>
  void for_each(Body body) const {
    parallel_for(0, rows_ * divide_up(panels_, group_), 1, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t group = begin / rows_, first = begin % rows_, last = std::min(rows_, first + end - begin);
        body(Share{first, last, group * group_, std::min(panels_, (group + 1) * group_)});
        begin += last - first;
      }
    });
  }

 private:
  static constexpr std::int64_t kGroup = 16;  // panels that a thread goes through for each block of rows

  std::int64_t rows_, panels_, group_ = 1;
};

}  // namespace lockstep::kernels
