#include "finite.h"

#include <cstdint>

#include <ATen/ops/view_as_real.h>

namespace lockstep::parallel {
namespace {

constexpr std::int64_t kWholeElements = 1 << 18;

// All bits of the exponent are set in NaN and infinity, and in nothing else. Whole numbers keep the loop free of the
// order in which floating-point sums must be taken, so it runs at the speed of memory.
template <typename Bits>
bool scan(const void* data, std::int64_t count, std::int64_t stride, Bits exponent) {
  const auto* bits = static_cast<const Bits*>(data);
  std::uint64_t bad = 0;
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) bad += (bits[i] & exponent) == exponent ? 1 : 0;
  } else {
    for (std::int64_t i = 0; i < count; ++i) bad += (bits[i * stride] & exponent) == exponent ? 1 : 0;
  }
  return bad == 0;
}

bool is_finite(const at::Tensor& tensor, std::int64_t count, std::int64_t stride) {
  const void* data = tensor.const_data_ptr();
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return scan<std::uint32_t>(data, count, stride, 0x7f800000U);
    case at::kDouble:
      return scan<std::uint64_t>(data, count, stride, 0x7ff0000000000000ULL);
    case at::kHalf:
      return scan<std::uint16_t>(data, count, stride, 0x7c00U);
    case at::kBFloat16:
      return scan<std::uint16_t>(data, count, stride, 0x7f80U);
    default:
      return true;
  }
}

}  // namespace

bool looks_finite(const at::Tensor& tensor) {
  if (tensor.is_complex()) return looks_finite(at::view_as_real(tensor.resolve_conj()));
  const std::int64_t size = tensor.numel();
  if (size <= kWholeElements || tensor.dim() < 2) return is_finite(tensor, size, 1);
  const std::int64_t rows = tensor.size(0), stride = tensor.stride(0);
  if (stride * rows != size) return is_finite(tensor, size, 1);  // rows do not lie one after another
  return is_finite(tensor, stride, 1) && is_finite(tensor, rows, stride);
}

}  // namespace lockstep::parallel
