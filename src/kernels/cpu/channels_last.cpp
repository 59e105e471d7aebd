#include "channels_last.h"

#include <optional>

namespace lockstep::kernels {
namespace {

std::optional<at::MemoryFormat> format_of(std::int64_t dimensions) {
  switch (dimensions) {
    case 2:
      return at::MemoryFormat::Contiguous;
    case 4:
      return at::MemoryFormat::ChannelsLast;
    case 5:
      return at::MemoryFormat::ChannelsLast3d;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool is_cpu_float(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.scalar_type() == at::kFloat && tensor.layout() == at::kStrided;
}

bool is_cpu_floating(const at::Tensor& tensor) {
  return is_cpu_float(tensor) ||
         (tensor.device().is_cpu() && tensor.scalar_type() == at::kBFloat16 && tensor.layout() == at::kStrided);
}

bool is_channels_last(const at::Tensor& tensor) {
  const auto format = format_of(tensor.dim());
  return format && tensor.layout() == at::kStrided && tensor.is_contiguous(*format);
}

bool is_cpu_channels_last(const at::Tensor& tensor) {
  return is_cpu_floating(tensor) && is_channels_last(tensor);
}

at::Tensor take_channels_last(at::Tensor& gradient, const at::Tensor& like) {
  const at::MemoryFormat format = *format_of(like.dim());
  const at::Tensor taken = std::move(gradient);
  return taken.is_contiguous(format) ? taken : taken.contiguous(format);
}

bool is_ours(const at::Tensor& gradient) {
  return gradient.use_count() == 1 && gradient.has_storage() && gradient.storage().use_count() == 1 &&
         !gradient._is_zerotensor() && !gradient.is_neg();
}

}  // namespace lockstep::kernels
