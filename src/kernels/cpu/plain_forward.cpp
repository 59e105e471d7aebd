#include "plain_forward.h"

#include <ATen/TracerMode.h>
#include <ATen/autocast_mode.h>

namespace lockstep::kernels {

bool is_plain_forward() {
  return !at::autocast::is_autocast_enabled(at::kCPU) && !at::tracer::impl::is_dispatch_enabled();
}

}  // namespace lockstep::kernels
