#include "adasum.h"

#include <ATen/ops/dot.h>
#include <ATen/ops/empty_like.h>

namespace lockstep::parallel {
namespace {

// Products of 16-bit floats need more digits than those have.
double inner_product(const at::Tensor& a, const at::Tensor& b) {
  const bool narrow = a.element_size() == 2;
  return narrow ? a.to(at::kFloat).dot(b.to(at::kFloat)).item<double>() : a.dot(b).item<double>();
}

}  // namespace

void combine_by_adasum(const at::Tensor& a, const at::Tensor& b) {
  const double product = inner_product(a, b), of_a = inner_product(a, a), of_b = inner_product(b, b);
  // A gradient of zeros has no direction, and the other one stays as it is.
  const double share_of_a = of_a == 0 ? 1 : 1 - product / (2 * of_a);
  const double share_of_b = of_b == 0 ? 1 : 1 - product / (2 * of_b);
  a.mul_(share_of_a).add_(b, share_of_b);
}

// Up a tree to rank 0 and down again by broadcast. The usual exchange between partners computes each sum on several
// ranks, which is bit-equal only where their processors and the alignment of their memory are.
void adasum(const Group& group, const at::Tensor& flat, const std::vector<std::int64_t>& lengths) {
  const int rank = group.rank();
  at::Tensor theirs;
  for (int distance = 1; distance < group.size(); distance *= 2) {
    if (rank % (2 * distance) != 0) {
      group.send(flat, rank - distance);
      break;
    }
    if (rank + distance >= group.size()) continue;
    if (!theirs.defined()) theirs = at::empty_like(flat);
    group.receive(theirs, rank + distance);
    std::int64_t offset = 0;
    for (const std::int64_t length : lengths) {
      combine_by_adasum(flat.narrow(0, offset, length), theirs.narrow(0, offset, length));
      offset += length;
    }
  }
  group.broadcast(flat, 0);
}

}  // namespace lockstep::parallel
