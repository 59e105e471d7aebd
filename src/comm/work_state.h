#pragma once
#include <functional>
#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <lockstep/comm/work.h>

#include "operation.h"

namespace lockstep {

struct Work::State {
  std::string operation;
  c10::intrusive_ptr<c10d::Work> work;  // null: it is ordered on the caller's stream already, as NCCL does it
  std::shared_ptr<const comm::LossFlag> loss;
  std::function<void()> after;  // what is left to do when the operation is complete; the first wait does it
};

}  // namespace lockstep
