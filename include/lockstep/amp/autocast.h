// Mixed precision by the operation: libtorch's autocast for a scope.
#pragma once
#include <optional>

#include <ATen/core/Tensor.h>

#include <lockstep/amp/precision.h>

namespace lockstep::amp {

// While it lives, operations of this thread on tensors of a device type run in 16 bits where libtorch's table has them
// so, and in fp32 where they need it. Put it round forward and the loss, not round backward, which runs in the types of
// forward by itself.
//
// Guards nest, each for its device type, and end in the reverse order; the end of each, also by an exception, brings
// back the state before it. Parameters are cast once in an outermost guard, at whose end the casts are dropped; also
// where guards of two types nest, which in Python yields casts of the other type.
//
// The state belongs to the thread. DataParallel takes the caller's to the threads of its devices; a thread that the
// program starts needs a guard of its own.
class Autocast {
 public:
  // Without a type: a region where nothing is cast, inside another. Throws UsageError for a device other than CPU and
  // CUDA, a type that is not of 16 bits, and what require_type refuses.
  Autocast(at::DeviceType device, std::optional<at::ScalarType> type);
  Autocast(at::DeviceType device, const Precision& precision) : Autocast(device, precision.autocast) {}
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast();

 private:
  const at::DeviceType device_;
  const bool enabled_before_;
  const at::ScalarType type_before_;
  const bool cache_before_;
  bool changes_type_ = false;
};

}  // namespace lockstep::amp
