#pragma once
#include <lockstep/base/errors.h>

namespace lockstep::parallel {

// Gradients are NaN or infinite. Thrown on all ranks alike.
class NotFiniteError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

}  // namespace lockstep::parallel
