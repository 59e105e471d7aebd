#pragma once

namespace lockstep::kernels {

// Whether this forward pass is nothing but that: autocast would choose other types for its products, and a trace would
// not see what happens inside of a kernel.
bool is_plain_forward();

}  // namespace lockstep::kernels
