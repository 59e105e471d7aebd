// One collective as people speak of it, and how long it may take.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <ATen/core/Tensor.h>

#include "engine.h"

namespace lockstep::comm {

// Raised when a rank of the job is known to be gone; every operation that waits looks at it.
class LossFlag {
 public:
  void raise(std::string reason);
  bool raised() const { return raised_.load(std::memory_order_acquire); }
  std::string reason() const;

 private:
  std::atomic<bool> raised_ = false;
  mutable std::mutex mutex_;
  std::string reason_;
};

struct Operation {
  std::string name;            // "all_reduce"
  std::uint64_t sequence = 0;  // in its group; 0 for a message between two ranks
  std::string tensor;          // "float32[64, 3, 7, 7]"
  std::uint64_t ticket = 0;    // the flight recorder's

  // "all_reduce #1841 (float32[2359296])"
  std::string describe() const;
};

std::string describe_tensor(const at::Tensor& tensor);

class Watch;

// Patience of one operation: its deadline, and the loss of a rank.
class OperationPatience : public Patience {
 public:
  OperationPatience(const Operation& operation, std::chrono::milliseconds timeout, const Watch& watch);
  void check() const override;

 private:
  const Operation& operation_;
  std::chrono::milliseconds timeout_;
  std::chrono::steady_clock::time_point deadline_;
  const Watch& watch_;
};

}  // namespace lockstep::comm
