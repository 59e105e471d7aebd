#include "oracle.h"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "world.h"

namespace lockstep::test {
namespace {

double combine(Reduce op, double a, double b) {
  const auto x = static_cast<std::int64_t>(a);
  const auto y = static_cast<std::int64_t>(b);
  switch (op) {
    case Reduce::kSum:
    case Reduce::kAverage:
      return a + b;
    case Reduce::kProduct:
      return a * b;
    case Reduce::kMin:
      return std::min(a, b);
    case Reduce::kMax:
      return std::max(a, b);
    case Reduce::kBitAnd:
      return static_cast<double>(x & y);
    case Reduce::kBitOr:
      return static_cast<double>(x | y);
    case Reduce::kBitXor:
      return static_cast<double>(x ^ y);
  }
  return 0;
}

at::Tensor fill(std::int64_t count, at::ScalarType type, auto&& value) {
  at::Tensor tensor = at::empty({count}, at::kDouble);
  auto* data = tensor.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < count; ++i) data[i] = value(i);
  return tensor.to(device(), type);
}

}  // namespace

at::Device device() {
  return world().backend() == "nccl" ? at::kCUDA : at::kCPU;
}

at::Tensor full(at::IntArrayRef shape, const at::Scalar& value, at::ScalarType type) {
  return at::full(shape, value, at::TensorOptions(device()).dtype(type));
}

at::Tensor zeros(at::IntArrayRef shape, at::ScalarType type) {
  return at::zeros(shape, at::TensorOptions(device()).dtype(type));
}

const std::vector<at::ScalarType>& reduced_types() {
  static const std::vector<at::ScalarType> kTypes = [] {
    std::vector<at::ScalarType> types = {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kByte,
                                         at::kChar, at::kInt,      at::kLong,  at::kBool};
    if (!device().is_cuda()) types.push_back(at::kShort);
    return types;
  }();
  return kTypes;
}

bool applies(Reduce op, at::ScalarType type) {
  const bool floating = at::isFloatingType(type);
  const bool bits = op == Reduce::kBitAnd || op == Reduce::kBitOr || op == Reduce::kBitXor;
  return bits ? !floating && !device().is_cuda() : op != Reduce::kAverage || floating;
}

double input_value(int rank, std::int64_t i, at::ScalarType type) {
  return static_cast<double>(type == at::kBool ? (rank + i) % 2 : 1 + (2 * rank + i) % 3);
}

at::Tensor input_tensor(int rank, std::int64_t count, at::ScalarType type) {
  return fill(count, type, [&](std::int64_t i) { return input_value(rank, i, type); });
}

at::Tensor reduced_tensor(int size, std::int64_t count, at::ScalarType type, Reduce op) {
  return fill(count, type, [&](std::int64_t i) {
    double value = input_value(0, i, type);
    for (int rank = 1; rank < size; ++rank) value = combine(op, value, input_value(rank, i, type));
    return op == Reduce::kAverage ? value / size : value;
  });
}

}  // namespace lockstep::test
