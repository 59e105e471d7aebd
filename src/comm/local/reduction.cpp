#include "reduction.h"

#include <optional>
#include <string>

#include <lockstep/base/cpu.h>
#include <lockstep/base/errors.h>

namespace lockstep::comm::local {
namespace {

std::optional<Number> number_of(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Half:
      return Number::kFloat16;
    case c10::ScalarType::BFloat16:
      return Number::kBFloat16;
    case c10::ScalarType::Float:
      return Number::kFloat32;
    case c10::ScalarType::Double:
      return Number::kFloat64;
    case c10::ScalarType::Char:
      return Number::kInt8;
    case c10::ScalarType::Short:
      return Number::kInt16;
    case c10::ScalarType::Int:
      return Number::kInt32;
    case c10::ScalarType::Long:
      return Number::kInt64;
    case c10::ScalarType::Byte:
      return Number::kUInt8;
    case c10::ScalarType::UInt16:
      return Number::kUInt16;
    case c10::ScalarType::UInt32:
      return Number::kUInt32;
    case c10::ScalarType::UInt64:
      return Number::kUInt64;
    case c10::ScalarType::Bool:
      return Number::kBool;
    default:
      return std::nullopt;
  }
}

using FindKernel = Kernel (*)(Number, Reduce);

FindKernel best_kernels() {
  switch (cpu::kernel_level()) {
    case cpu::KernelLevel::kAvx512:
      return find_kernel_avx512;
    case cpu::KernelLevel::kAvx2:
      return find_kernel_avx2;
    case cpu::KernelLevel::kBase:
      break;
  }
  return find_kernel_base;
}

}  // namespace

Reduction find_reduction(c10::ScalarType type, Reduce op) {
  static const FindKernel find_kernel = best_kernels();
  const auto number = number_of(type);
  const Kernel kernel = number ? find_kernel(*number, op) : nullptr;
  if (kernel == nullptr) {
    throw UsageError({.message = std::string("there is no ") + to_text(op) + " of " + c10::toString(type),
                      .expected = "floats for averages, whole numbers or bool for bit operations, and neither complex "
                                  "numbers nor types of 8 bits other than int8, uint8 and bool"});
  }
  return {.kernel = kernel, .element_bytes = c10::elementSize(type)};
}

}  // namespace lockstep::comm::local
