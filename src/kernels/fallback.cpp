#include <lockstep/kernels/fallback.h>

#include <mutex>
#include <set>

#include <ATen/TracerMode.h>

#include <lockstep/base/log.h>
#include <lockstep/kernels/engine.h>

namespace lockstep::kernels {

void tell_fallback(const std::string& operation, const at::Tensor& input) {
  if (!input.is_cuda() || engine() != Engine::kFused || at::tracer::impl::is_dispatch_enabled()) return;
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (!told.insert(operation).second) return;
  log::info("{} of {} {} is libtorch's: the fused engine has none for it (docs/gpu.md says what it takes)", operation,
            c10::toString(input.scalar_type()), c10::str(input.sizes()));
}

}  // namespace lockstep::kernels
