#pragma once
#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace lockstep::amp {

// What the host may know of a scaler: the numbers that its device keeps, as float32.
struct ScaleNumbers {
  float steps = 0;         // in all
  float scale = 0;         // now
  float last_skipped = 0;  // the number of the last step that was skipped
  float last_scale = 0;    // the scale of that step
  float skipped = 0;       // steps, in all
  float steps_again = 0;   // at the other end: a record of which only a part has arrived can be told from a whole one
};

using ScaleValues = std::array<float, sizeof(ScaleNumbers) / sizeof(float)>;  // as a tensor has them

// The scale and what goes with it, on a device, changed there without the host's help.
class ScaleState {
 public:
  ScaleState(at::Device device, const ScaleNumbers& numbers, std::int64_t growth_tracker);

  struct Rule {
    bool dynamic;
    double growth_factor, backoff_factor;
    std::int64_t growth_interval;
  };
  // Counts a step that was skipped if `found_inf` is 1, and not if it is 0. The scale follows the rule.
  void advance(const at::Tensor& found_inf, const Rule& rule);

  at::Tensor scale() const { return numbers_.select(0, 1); }
  const at::Tensor& growth_tracker() const { return growth_tracker_; }
  // All of ScaleNumbers in their order.
  const at::Tensor& numbers() const { return numbers_; }
  ScaleNumbers read() const;  // waits for the device

  // Waits until the device has done all that was asked of it, in any stream.
  void wait() const;

  // Without waiting. `steps_again` follows `steps`.
  void set(const ScaleNumbers& numbers, std::int64_t growth_tracker);
  void set_scale(double scale) { this->scale().fill_(scale); }

 private:
  at::Tensor numbers_, growth_tracker_;
  at::Tensor increment_;  // of numbers_: 1 for a step, and 1 if it was skipped
};

}  // namespace lockstep::amp
