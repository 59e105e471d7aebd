#pragma once
#include <chrono>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/rank.h>

#include "operation.h"

namespace lockstep::comm {

// LOCKSTEP_DEBUG=collectives: before each collective the ranks of a group tell one another, through the store, what
// they are about to call. Slow, and certain.
class Agreement {
 public:
  Agreement(c10::intrusive_ptr<c10d::Store> store, RankId rank, std::chrono::milliseconds timeout,
            std::shared_ptr<const LossFlag> loss)
      : store_(std::move(store)), rank_(rank), timeout_(timeout), loss_(std::move(loss)) {}

  // Returns when all ranks have come to the operation of this number and agree on its name, type, size and `detail`.
  // Throws UsageError, on every rank, that names those who differ; TimeoutError that names those who have not come.
  void require(const Operation& operation, const std::string& detail);

 private:
  void wait_for_all(const Operation& operation);

  c10::intrusive_ptr<c10d::Store> store_;
  RankId rank_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<const LossFlag> loss_;
};

// Whether LOCKSTEP_DEBUG holds `collectives`. Throws UsageError for a word in it that it does not know.
bool debug_collectives();

}  // namespace lockstep::comm
