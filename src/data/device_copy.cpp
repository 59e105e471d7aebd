#include "device_copy.h"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace lockstep::data {

// Through what libtorch has for devices of any kind: this library links nothing of CUDA.
DeviceCopy::DeviceCopy(at::Device device)
    : device_(device), stream_(c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device)) {}

DeviceCopy::Pending DeviceCopy::start(const BatchTensors& pinned) const {
  const c10::StreamGuard on_stream(stream_);
  Pending pending{.tensors = {.data = pinned.data.to(device_, /*non_blocking=*/true),
                              .target = pinned.target.to(device_, /*non_blocking=*/true)},
                  .copied = c10::Event(device_.type())};
  pending.copied.record(stream_);
  return pending;
}

BatchTensors DeviceCopy::use(Pending pending) const {
  const c10::Stream current = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  pending.copied.block(current);
  // The allocator must not give the memory to another tensor of the copying stream while the current one uses it.
  pending.tensors.data.record_stream(current);
  pending.tensors.target.record_stream(current);
  return std::move(pending.tensors);
}

}  // namespace lockstep::data
