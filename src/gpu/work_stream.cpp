#include <lockstep/gpu/work_stream.h>

#include <c10/core/impl/VirtualGuardImpl.h>

namespace lockstep::gpu {

// Through what libtorch has for devices of any kind: this library links nothing of CUDA.
WorkStream::WorkStream(at::Device device) : device_(device), before_(c10::Stream::DEFAULT, device) {
  if (device.is_cpu()) return;
  finish(device);
  const c10::impl::VirtualGuardImpl guard(device.type());
  before_ = guard.exchangeStream(guard.getStreamFromGlobalPool(device));
}

WorkStream::~WorkStream() {
  if (device_.is_cpu()) return;
  try {
    finish(device_);
  } catch (const std::exception&) {  // of work that failed: whoever reads its result hears of it
  }
  c10::impl::VirtualGuardImpl(device_.type()).exchangeStream(before_);
}

void finish(at::Device device) {
  if (device.is_cpu()) return;
  c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

}  // namespace lockstep::gpu
