#include "tensors.h"

#include <limits>

#include <c10/core/DeviceGuard.h>

#include <lockstep/base/plugin.h>

#include "../cpu/channels_last.h"

namespace lockstep::kernels::cuda {
namespace {

const Kernels* load_kernels() {
  if (!have_plugin("cuda")) return nullptr;
  return reinterpret_cast<const Kernels* (*)()>(plugin_symbol("cuda", "lockstep_cuda_kernels"))();
}

}  // namespace

const Kernels* kernels_on(at::Device device) {
  if (!device.is_cuda()) return nullptr;
  static const Kernels* const loaded = load_kernels();
  if (loaded == nullptr) return nullptr;
  const c10::DeviceGuard guard(device);
  return loaded->run_here() ? loaded : nullptr;
}

bool has_taken_type(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  return type == at::kFloat || type == at::kBFloat16 || type == at::kHalf;
}

bool is_aligned(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % kVectorBytes == 0;
}

bool is_taken(const at::Tensor& tensor) {
  constexpr std::int64_t kMostRows = std::numeric_limits<int>::max() / 2;  // their numbers are ints
  if (!tensor.is_cuda() || !has_taken_type(tensor) || !is_channels_last(tensor) || tensor.numel() == 0) return false;
  return tensor.size(1) % vector_width(number_of(tensor)) == 0 && rows_of(tensor).rows <= kMostRows &&
         is_aligned(tensor);
}

bool is_of_channels(const at::Tensor& tensor, const at::Tensor& input) {
  return is_of_channels(tensor, input, input.size(1));
}

bool is_of_channels(const at::Tensor& tensor, const at::Tensor& other, std::int64_t channels) {
  return tensor.defined() && tensor.device() == other.device() && tensor.scalar_type() == at::kFloat &&
         tensor.is_contiguous() && tensor.numel() == channels;
}

float* floats_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
}

std::int64_t* longs_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr<std::int64_t>() : nullptr;
}

const std::uint8_t* bits_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<std::uint8_t>() : nullptr;
}

Number number_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBFloat16:
      return Number::kBFloat16;
    case at::kHalf:
      return Number::kHalf;
    default:
      return Number::kFloat;
  }
}

Rows rows_of(const at::Tensor& tensor) {
  return {.type = number_of(tensor), .rows = tensor.numel() / tensor.size(1), .channels = tensor.size(1)};
}

at::Tensor take_gradient(at::Tensor& gradient, const at::Tensor& like) {
  at::Tensor taken = take_channels_last(gradient, like);
  return is_aligned(taken) ? taken : taken.clone();
}

}  // namespace lockstep::kernels::cuda
