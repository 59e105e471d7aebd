// The C++ rank of a job whose other rank is Python's torch.distributed, over Gloo. It does what mixed_job.py does, in
// the same order, and checks what it gets.
#include <iostream>
#include <string>

#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/comm/world.h>

namespace {

using lockstep::Reduce;

int failures = 0;

void expect(const std::string& what, const at::Tensor& found, const at::Tensor& expected) {
  if (at::equal(found, expected)) return;
  ++failures;
  std::cerr << what << ": found " << found << "\nexpected " << expected << std::endl;
}

// Whole numbers, so that every order of adding gives the same.
at::Tensor input(int rank, at::ScalarType type = at::kFloat) {
  return (torch::arange(1000, at::kLong) % 17 + 3 * rank + 1).to(type);
}

int body(int, char**) {
  const lockstep::World world({.backend = "gloo", .timeout = std::chrono::seconds(60)});
  const int rank = world.rank();

  for (const auto type : {at::kFloat, at::kDouble, at::kInt, at::kLong, at::kHalf, at::kBFloat16}) {
    at::Tensor sum = input(rank, type);
    world.all_reduce(sum);
    expect("all_reduce", sum, input(0, type) + input(1, type));
  }
  at::Tensor largest = input(rank);
  world.all_reduce(largest, Reduce::kMax);
  expect("all_reduce max", largest, input(1));

  at::Tensor shared = input(rank);
  world.broadcast(shared, 1);
  expect("broadcast", shared, input(1));

  const at::Tensor gathered = torch::empty({2000});
  world.all_gather_into(gathered, input(rank));
  expect("all_gather", gathered, at::cat({input(0), input(1)}));

  if (rank == 0) {
    world.send(input(5), 1, 7);
  } else {
    const at::Tensor received = torch::empty({1000});
    world.receive(received, 0, 7);
    expect("send", received, input(5));
  }
  world.barrier();
  std::cout << "rank " << rank << " (C++) is " << (failures == 0 ? "right" : "wrong") << std::endl;
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
