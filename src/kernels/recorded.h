// What our operations tell those who listen: libtorch's profilers, and `bench step --operations`.
#pragma once
#include <array>
#include <initializer_list>

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

namespace lockstep::kernels {

// What an operation cannot do without.
struct Work {
  double flop = 0;   // of its products; what is added or scaled beside them does not count
  double bytes = 0;  // of the tensors that it reads and writes, each once
};

// Of all tensors together; those that are not defined have none.
double bytes_of(std::initializer_list<at::Tensor> tensors);

// An operation of this name runs for as long as this lives. Its work goes with it as two inputs.
class Recorded {
 public:
  Recorded(const char* name, const Work& work);

 private:
  std::array<c10::IValue, 2> inputs_;
  at::RecordFunction record_;
};

}  // namespace lockstep::kernels
