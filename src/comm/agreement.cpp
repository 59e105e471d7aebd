#include "agreement.h"

#include <map>
#include <vector>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::comm {
namespace {

std::string key(std::uint64_t sequence, int rank) {
  return fmt::format("call/{}/{}", sequence, rank);
}

// What must be the same on all ranks. What is gathered or exchanged may differ in size.
std::string signature(const Operation& operation, const std::string& detail) {
  const bool sizes_may_differ = operation.name == "all_gather" || operation.name == "gather" ||
                                operation.name == "scatter" || operation.name == "all_to_all";
  const std::string tensor =
      sizes_may_differ ? operation.tensor.substr(0, operation.tensor.find('[')) : operation.tensor;
  // The root alone gives a list of outputs, so the tensor that is described is not the same thing on all ranks.
  const bool rooted = operation.name == "gather" || operation.name == "scatter";
  return fmt::format("{}{}{}", operation.name, detail.empty() ? "" : " " + detail, rooted ? "" : " " + tensor);
}

}  // namespace

// Waits in slices, because a rank that is lost never comes.
void Agreement::wait_for_all(const Operation& operation) {
  constexpr auto kSlice = std::chrono::milliseconds(200);
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  for (int rank = 0; rank < rank_.size;) {
    try {
      store_->wait({key(operation.sequence, rank)}, kSlice);
      ++rank;
    } catch (const std::exception&) {
      if (loss_->raised()) throw RuntimeError(operation.describe() + " was given up: " + loss_->reason());
      if (std::chrono::steady_clock::now() < deadline) continue;
      std::vector<int> absent;
      for (int other = 0; other < rank_.size; ++other) {
        if (!store_->check({key(operation.sequence, other)})) absent.push_back(other);
      }
      throw TimeoutError({.message = fmt::format("{}: {} did not come within {}", operation.describe(),
                                                 format_ranks(absent), format_duration(timeout_))});
    }
  }
}

void Agreement::require(const Operation& operation, const std::string& detail) {
  store_->set(key(operation.sequence, rank_.rank), signature(operation, detail));
  wait_for_all(operation);
  std::map<std::string, std::vector<int>> ranks_by_call;
  for (int rank = 0; rank < rank_.size; ++rank) {
    ranks_by_call[store_->get_to_str(key(operation.sequence, rank))].push_back(rank);
  }
  if (ranks_by_call.size() > 1) {
    std::string found;
    for (const auto& [call, ranks] : ranks_by_call)
      found += fmt::format("{}{}: {}", found.empty() ? "" : "; ", format_ranks(ranks), call);
    throw UsageError({.message = fmt::format("the ranks do not agree on collective #{}", operation.sequence),
                      .found = found,
                      .expected = "the same call on every rank, in the same order"});
  }
  // Every rank has read what is two calls old, since all have come to this one.
  if (operation.sequence > 2) store_->deleteKey(key(operation.sequence - 2, rank_.rank));
}

bool debug_collectives() {
  bool found = false;
  for (const std::string& word : split(env::get("LOCKSTEP_DEBUG").value_or(""), ',')) {
    if (word == "collectives")
      found = true;
    else if (!word.empty()) {
      throw UsageError({.message = "LOCKSTEP_DEBUG is not understood", .found = word, .expected = "collectives"});
    }
  }
  return found;
}

}  // namespace lockstep::comm
