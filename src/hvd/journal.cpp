#include "journal.h"

#include <algorithm>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

namespace lockstep::hvd {
namespace {

std::string key(std::int64_t line) {
  return "line/" + std::to_string(line);
}

}  // namespace

// With a connection of its own: what waits there holds up nobody else.
Journal::Journal(const c10::intrusive_ptr<c10d::Store>& store, int ranks)
    : store_(c10::make_intrusive<c10d::PrefixStore>("journal/", store->clone())),
      positions_(static_cast<std::size_t>(ranks)) {}

void Journal::append(const std::string& line) {
  const std::int64_t number = store_->add("lines", 1);
  store_->set(key(number), line);
  own_.push_back(number);
}

std::optional<std::string> Journal::next(std::chrono::milliseconds patience) {
  const std::string wanted = key(position_ + 1);
  if (!store_->check({wanted})) {
    if (patience.count() == 0) return std::nullopt;
    try {
      store_->wait({wanted}, patience);
    } catch (const std::exception&) {
      if (!store_->check({wanted})) return std::nullopt;  // throws when it was not the time that ran out
    }
  }
  ++position_;
  return store_->get_to_str(wanted);
}

void Journal::others_position(int rank, std::int64_t position) {
  positions_[static_cast<std::size_t>(rank)] = position;
  const std::int64_t read_by_all = *std::min_element(positions_.begin(), positions_.end());
  while (!own_.empty() && own_.front() <= read_by_all) {
    store_->deleteKey(key(own_.front()));
    own_.pop_front();
  }
}

}  // namespace lockstep::hvd
