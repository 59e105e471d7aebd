// An all-reduce written with nothing but send and receive, as a ring: each rank talks to its two neighbours only, and
// every byte crosses each link twice at most, however many ranks there are.
//
//   1. reduce-scatter  n-1 times: pass a part on, add what arrives; then each rank has one part of the sum complete
//   2. all-gather      n-1 times: pass the complete parts on
//
//   lockstep run -n 4 -- ring_all_reduce
//
// The result is compared with the library's own.
#include <iostream>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>

#include <lockstep/lockstep.h>

namespace {

void ring_all_reduce(const lockstep::Group& group, const at::Tensor& tensor) {
  const int n = group.size();
  const int next = (group.rank() + 1) % n;
  const int previous = (group.rank() + n - 1) % n;
  const std::vector<at::Tensor> parts = tensor.tensor_split(n);
  const auto part = [&](int i) { return parts[static_cast<std::size_t>((i % n + n) % n)]; };

  for (int step = 0; step < n - 1; ++step) {
    lockstep::Work sending = group.send_async(part(group.rank() - step), next);
    const at::Tensor target = part(group.rank() - step - 1);
    const at::Tensor arrived = at::empty_like(target);
    group.receive(arrived, previous);
    target.add_(arrived);
    sending.wait();
  }
  for (int step = 0; step < n - 1; ++step) {
    lockstep::Work sending = group.send_async(part(group.rank() + 1 - step), next);
    group.receive(part(group.rank() - step), previous);
    sending.wait();
  }
}

int body(int, char**) {
  const lockstep::World world;
  // Whole numbers, so that both sums are exact whatever their order.
  const at::Tensor ours = at::arange(1'000'003, at::kFloat).remainder_(1000).add_(world.rank());
  const at::Tensor expected = ours.clone();
  ring_all_reduce(world, ours);
  world.all_reduce(expected);
  if (!at::equal(ours, expected)) throw lockstep::RuntimeError("the ring's sum differs from the library's");
  world.barrier();
  if (world.rank() == 0) std::cout << "the ring and the library agree on " << world.size() << " ranks\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors(lockstep::discover_placement().rank, body, argc, argv);
}
