#include "scale_state.h"

#include <algorithm>
#include <bit>

#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace lockstep::amp {

ScaleState::ScaleState(at::Device device, const ScaleNumbers& numbers, std::int64_t growth_tracker)
    : numbers_(at::zeros({std::tuple_size_v<ScaleValues>}, at::TensorOptions().dtype(at::kFloat).device(device))),
      growth_tracker_(at::zeros({}, numbers_.options().dtype(at::kInt))),
      increment_(at::zeros_like(numbers_)) {
  increment_.select(0, 0).fill_(1);
  increment_.select(0, 5).fill_(1);
  set(numbers, growth_tracker);
}

// By kernels that carry the values: a copy from memory that is not pinned would make the host wait.
void ScaleState::set(const ScaleNumbers& numbers, std::int64_t growth_tracker) {
  auto values = std::bit_cast<ScaleValues>(numbers);
  values.back() = values.front();
  for (std::size_t i = 0; i < values.size(); ++i) numbers_.select(0, static_cast<std::int64_t>(i)).fill_(values[i]);
  growth_tracker_.fill_(growth_tracker);
}

void ScaleState::advance(const at::Tensor& found_inf, const Rule& rule) {
  increment_.select(0, 4).copy_(found_inf, /*non_blocking=*/true);
  numbers_.add_(increment_);
  // The step and its scale take the place of the last ones if the weight is 1, and leave them if it is 0.
  numbers_.narrow(0, 2, 2).lerp_(numbers_.narrow(0, 0, 2), found_inf);
  if (!rule.dynamic) return;
  at::Tensor scale = this->scale();
  at::_amp_update_scale_(scale, growth_tracker_, found_inf, rule.growth_factor, rule.backoff_factor,
                         rule.growth_interval);
}

void ScaleState::wait() const {
  if (numbers_.is_cpu()) return;
  c10::impl::VirtualGuardImpl(numbers_.device().type()).synchronizeDevice(numbers_.device().index());
}

ScaleNumbers ScaleState::read() const {
  const at::Tensor here = numbers_.to(at::kCPU);
  ScaleValues values{};
  std::copy_n(here.const_data_ptr<float>(), values.size(), values.begin());
  return std::bit_cast<ScaleNumbers>(values);
}

}  // namespace lockstep::amp
