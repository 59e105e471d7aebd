#include <ATen/ops/full.h>
#include <iostream>

#include <lockstep/lockstep.h>

int main() {
  const lockstep::World world;
  const at::Tensor value = at::full({1}, world.rank() + 1, at::kFloat);
  world.all_reduce(value);
  if (world.rank() == 0) std::cout << "sum " << value.item<float>() << '\n';
}
