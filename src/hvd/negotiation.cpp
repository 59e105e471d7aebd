#include "negotiation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::hvd {

std::string Line::to_text() const {
  const nlohmann::json json = {{"line", kind},
                               {"rank", rank},
                               {"position", position},
                               {"name", request.name},
                               {"kind", request.kind},
                               {"call", request.call},
                               {"detail", request.detail},
                               {"type", request.type},
                               {"device", request.device},
                               {"sizes", request.sizes}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Line Line::from_text(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return {static_cast<Kind>(json.at("line").get<int>()),
            json.at("rank"),
            json.at("position"),
            {json.at("name"), json.at("kind"), json.at("call"), json.at("detail"), json.at("type"), json.at("device"),
             json.at("sizes")}};
  } catch (const nlohmann::json::exception& error) {
    throw RuntimeError({.message = "a line of the ranks' journal makes no sense", .found = error.what()});
  }
}

Negotiation::Negotiation(int ranks) : ranks_(ranks) {}

std::vector<int> Negotiation::missing(const std::string& name) const {
  const auto found = pending_.find(name);
  std::vector<int> result;
  for (int rank = 0; rank < ranks_; ++rank) {
    const bool submitted = found != pending_.end() && found->second.calls.contains(rank);
    if (!submitted && !joined_.contains(rank)) result.push_back(rank);
  }
  return result;
}

bool Negotiation::is_complete(const Pending& pending) const {
  return missing(pending.request.name).empty();
}

void Negotiation::give_up(const std::string& found) {
  hopeless_ = found;
  throw UsageError({.message = "the ranks do not submit the same operations",
                    .found = found,
                    .expected = "the same names, with the same operation, type and shape, on every rank"});
}

void Negotiation::require_agreement(const Pending& pending) {
  std::map<std::string, std::vector<int>> ranks_by_call;
  for (const auto& [rank, call] : pending.calls) ranks_by_call[call].push_back(rank);
  if (ranks_by_call.size() == 1) return;
  std::vector<std::string> sentences;
  for (const auto& [call, ranks] : ranks_by_call) sentences.push_back(fmt::format("{}: {}", format_ranks(ranks), call));
  give_up(fmt::format("'{}' on {}", pending.request.name, fmt::join(sentences, "; on ")));
}

// Ranks that wait do nothing else, so when each waits or is gone, or a rank that is gone is missing, nothing will come.
void Negotiation::require_hope() {
  if (waiting_.empty()) return;
  bool nobody_acts = true;
  for (int rank = 0; rank < ranks_; ++rank) {
    nobody_acts = nobody_acts && (waiting_.contains(rank) || joined_.contains(rank) || left_.contains(rank));
  }
  std::vector<std::string> sentences;
  for (const auto& [name, pending] : pending_) {
    const auto absent = missing(name);
    std::vector<int> present, gone;
    for (const auto& [rank, call] : pending.calls) present.push_back(rank);
    std::copy_if(absent.begin(), absent.end(), std::back_inserter(gone),
                 [&](int rank) { return left_.contains(rank); });
    if (!nobody_acts && gone.empty()) continue;
    sentences.push_back(fmt::format("'{}' ({}) was submitted by {}, and not by {}{}", name, pending.request.kind,
                                    format_ranks(present), format_ranks(absent),
                                    gone.empty() ? "" : fmt::format(", of which {} shut down", format_ranks(gone))));
  }
  if (!sentences.empty()) give_up(fmt::format("{}", fmt::join(sentences, "; ")));
}

std::vector<Request> Negotiation::take(const Line& line) {
  if (hopeless_) give_up(*hopeless_);
  const std::string& name = line.request.name;
  switch (line.kind) {
    case Line::Kind::kSubmit: {
      Pending& pending = pending_[name];
      if (pending.calls.empty()) pending.request = line.request;
      pending.calls[line.rank] = line.request.call;
      require_agreement(pending);
      break;
    }
    case Line::Kind::kWait:
      // It may have been agreed on since the line was written.
      if (pending_.contains(name) && pending_[name].calls.contains(line.rank)) waiting_[line.rank] = name;
      break;
    case Line::Kind::kJoin:
      joined_.insert(line.rank);
      last_joined_ = line.rank;
      break;
    case Line::Kind::kLeave:
      left_.insert(line.rank);
      break;
  }
  std::vector<Request> agreed;
  for (auto each = pending_.begin(); each != pending_.end();) {
    if (!is_complete(each->second)) {
      ++each;
      continue;
    }
    std::erase_if(waiting_, [&](const auto& entry) { return entry.second == each->first; });
    agreed.push_back(each->second.request);
    each = pending_.erase(each);
  }
  if (std::cmp_equal(joined_.size(), ranks_)) {
    joined_.clear();
    ++joins_;
  }
  require_hope();
  return agreed;
}

}  // namespace lockstep::hvd
