#include <lockstep/nn/layout.h>

namespace lockstep::nn {

void to_channels_last(torch::nn::Module& module) {
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
    if (parameter.dim() == 5) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast3d));
  }
}

}  // namespace lockstep::nn
