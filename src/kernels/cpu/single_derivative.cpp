#include "single_derivative.h"

#include <ATen/core/grad_mode.h>

#include <lockstep/base/errors.h>

namespace lockstep::kernels {

void require_single_derivative(const std::string& of) {
  if (!at::GradMode::is_enabled()) return;
  throw UsageError({.message = "the fused " + of + " has no second derivative",
                    .found = "a backward pass with create_graph",
                    .next = "choose the engine 'reference' where second derivatives are needed"});
}

}  // namespace lockstep::kernels
