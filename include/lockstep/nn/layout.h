#pragma once
#include <torch/nn/module.h>

namespace lockstep::nn {

// Lays the weights of convolutions out as their kernels like them best for pictures whose channels come last (NHWC), or
// volumes (NDHWC). Their values and shapes stay; whoever holds a parameter goes on holding it. Before
// DistributedDataParallel, and before an optimizer has state. Inputs of that layout lead to outputs of it.
void to_channels_last(torch::nn::Module& module);

}  // namespace lockstep::nn
