#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/rank.h>

#include "agreement.h"
#include "monitor.h"
#include "operation.h"

namespace lockstep::comm {

// What a group's operations tell about themselves (to the flight recorder) and ask about other ranks (through the
// monitor). One for each group; backends call it around every operation.
class Watch {
 public:
  struct Options {
    std::string group = "world";
    std::vector<int> world_ranks;  // of the group's ranks
    std::shared_ptr<LossFlag> loss = std::make_shared<LossFlag>();
    std::shared_ptr<Monitor> monitor;      // null for a single process, and where ranks of PyTorch may be among them
    std::shared_ptr<Agreement> agreement;  // null unless LOCKSTEP_DEBUG=collectives
  };
  explicit Watch(Options options);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  // For a backend that some of the group's ranks have among themselves: `members` are their numbers in the group.
  std::shared_ptr<Watch> make_part(const std::string& name, const std::vector<int>& members) const;

  std::uint64_t sequence() const { return sequence_; }  // collectives begun so far

  const LossFlag& loss() const { return *options_.loss; }

  // The start of a collective, which gets the group's next number. With LOCKSTEP_DEBUG=collectives returns when all
  // ranks have come to it, and throws UsageError on all when they do not agree on what it is.
  Operation begin(const char* name, const std::vector<at::Tensor>& tensors, const std::string& detail = "");

  // The start of a message between two ranks, which has no number.
  Operation begin_message(const char* name, const at::Tensor& tensor);

  void end(const Operation& operation, bool good);

  // The error for an operation that has waited too long: asks every rank where it is.
  TimeoutError too_late(const Operation& operation, std::chrono::milliseconds timeout) const;

  // The error for an operation that cannot end because a rank is lost.
  RuntimeError given_up(const Operation& operation) const;

 private:
  Options options_;
  std::atomic<std::uint64_t> sequence_ = 0;
};

}  // namespace lockstep::comm
