#include "recorded.h"

namespace lockstep::kernels {

double bytes_of(std::initializer_list<at::Tensor> tensors) {
  double bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined()) bytes += static_cast<double>(tensor.nbytes());
  }
  return bytes;
}

Recorded::Recorded(const char* name, const Work& work)
    : inputs_{work.flop, work.bytes}, record_(at::RecordScope::FUNCTION) {
  if (record_.isActive()) record_.before(name, c10::ArrayRef<const c10::IValue>(inputs_.data(), inputs_.size()));
}

}  // namespace lockstep::kernels
