#pragma once
#include <string>

namespace lockstep::kernels {

// In a backward pass: throws UsageError if it shall itself be differentiable.
void require_single_derivative(const std::string& of);

}  // namespace lockstep::kernels
