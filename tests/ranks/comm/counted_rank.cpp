// Reduces 4 MB ten times: counted_rank BACKEND.
#include <ATen/ops/ones.h>

#include <lockstep/base/errors.h>
#include <lockstep/comm/world.h>

namespace {

int body(int, char** argv) {
  const lockstep::World world({.backend = argv[1], .timeout = std::chrono::seconds(60)});
  const at::Tensor tensor = at::ones({1'000'000});
  for (int i = 0; i < 10; ++i) world.all_reduce(tensor, lockstep::Reduce::kAverage);
  if (!tensor.eq(1).all().item<bool>()) throw lockstep::RuntimeError("the average of ones is not one");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
