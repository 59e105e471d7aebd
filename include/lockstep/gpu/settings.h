// How libtorch's libraries compute on GPUs.
#pragma once

namespace lockstep::gpu {

// Switches of the whole process. The defaults are libtorch's own.
struct Settings {
  bool tf32_matmul = false;       // matrix products of float32 in TensorFloat-32: 10 bits of mantissa, much faster
  bool tf32_convolutions = true;  // convolutions likewise
  bool autotune = false;          // cuDNN tries its algorithms at the first convolution of each shape
  // Only algorithms that give the same bits each time; an error where there is none. Sets CUBLAS_WORKSPACE_CONFIG if it
  // is not set: apply it before the first matrix product.
  bool deterministic = false;
};

Settings settings();
void apply(const Settings& settings);

// Applies settings as long as it lives, then those from before.
class SettingsGuard {
 public:
  explicit SettingsGuard(const Settings& chosen) : before_(settings()) { apply(chosen); }
  ~SettingsGuard() { apply(before_); }
  SettingsGuard(const SettingsGuard&) = delete;
  SettingsGuard& operator=(const SettingsGuard&) = delete;

 private:
  Settings before_;
};

}  // namespace lockstep::gpu
