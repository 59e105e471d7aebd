#include "reduction.h"

#include <cpuid.h>

#include <optional>
#include <string>

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
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  __builtin_cpu_init();
  if (!f16c || !__builtin_cpu_supports("avx2")) return find_kernel_base;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return avx512 ? find_kernel_avx512 : find_kernel_avx2;
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
