#pragma once
#include <optional>

#include <oneapi/ccl.hpp>

#include "../engine.h"

namespace lockstep::comm::ccl {

struct NativeReduction {
  ::ccl::datatype type;
  ::ccl::reduction operation;
};

// The reduction of oneCCL's own that gives what ours must, or nothing. Left out are bool, bit operations and averages,
// which it does not have; min and max of floats, where it loses a NaN depending on the order; and the halves, which
// round once per rank there and need AVX-512 for bfloat16.
std::optional<NativeReduction> native_reduction(c10::ScalarType type, Reduce op);

// The rest is made of movements and our own kernels, which reduce in the order of the ranks.
class ReductionByHand {
 public:
  // Moves bytes for this class; its exchange() and all_gather() are called.
  explicit ReductionByHand(Engine& mover, int rank, int size) : mover_(mover), rank_(rank), size_(size) {}

  void all_reduce(Elements elements, Reduce op, const Patience& patience);
  void reduce_scatter(Elements input, Elements output, Reduce op, const Patience& patience);

 private:
  Engine& mover_;
  int rank_;
  int size_;
};

}  // namespace lockstep::comm::ccl
