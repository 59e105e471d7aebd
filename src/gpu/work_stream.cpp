#include <lockstep/gpu/work_stream.h>

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

// Through what libtorch has for devices of any kind: this library links nothing of CUDA.
namespace lockstep::gpu {
namespace {

c10::Stream make_stream(at::Device device) {
  if (device.is_cpu()) return c10::Stream(c10::Stream::DEFAULT, device);
  return c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

// Makes `stream` current. It goes on when the one that was current, which is returned, has done its work.
c10::Stream change_to(const c10::Stream& stream) {
  const c10::Stream before = c10::impl::VirtualGuardImpl(stream.device_type()).exchangeStream(stream);
  c10::Event done(stream.device_type());
  done.record(before);
  done.block(stream);
  return before;
}

}  // namespace

WorkStream::WorkStream(at::Device device) : device_(device), stream_(make_stream(device)) {}

WorkStream::Entered::Entered(const WorkStream& stream)
    : device_(stream.device_),
      device_before_(device_.is_cpu() ? device_ : c10::impl::VirtualGuardImpl(device_.type()).exchangeDevice(device_)),
      before_(device_.is_cpu() ? stream.stream_ : change_to(stream.stream_)) {}

WorkStream::Entered::~Entered() {
  if (device_.is_cpu()) return;
  try {
    change_to(before_);
    c10::impl::VirtualGuardImpl(device_.type()).setDevice(device_before_);
  } catch (const std::exception&) {  // of work that failed: whoever reads its result hears of it
  }
}

void finish(at::Device device) {
  if (device.is_cpu()) return;
  c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

}  // namespace lockstep::gpu
