#include "communicator.h"

#include <unistd.h>

#include <map>
#include <random>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <lockstep/base/errors.h>

#include "kvs.h"
#include "worker.h"

namespace lockstep::comm::ccl {
namespace {

using Handle = std::shared_ptr<::ccl::communicator>;

// All communicators of this process, by the processes that they join.
struct Cache {
  struct Entry {
    int made = 0;
    std::map<int, Handle> free;  // by their numbers
  };
  std::mutex mutex;
  std::map<std::string, Entry> entries;
};

Cache& cache() {
  static Cache the_cache;
  return the_cache;
}

// A name of this process that no other process of any host has.
const std::string& process_name() {
  static const std::string name =
      fmt::format("{:x}.{:x}{:x}", ::getpid(), std::random_device()(), std::random_device()());
  return name;
}

// What each rank says under `key`. Never waits inside the store, which the messages of other groups pass through.
std::vector<std::string> exchange(c10d::Store& store, RankId self, const std::string& key, const std::string& mine,
                                  const Patience& patience) {
  const auto key_of = [&](int rank) { return fmt::format("{}/{}", key, rank); };
  store.set(key_of(self.rank), mine);
  std::vector<std::string> all;
  for (int rank = 0; rank < self.size; ++rank) {
    for (; !store.check({key_of(rank)}); patience.check()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    all.push_back(store.get_to_str(key_of(rank)));
  }
  return all;
}

std::string free_numbers(const std::string& members) {
  const std::lock_guard lock(cache().mutex);
  std::string text = "-";  // a store may take an empty value for none
  for (const auto& [number, handle] : cache().entries[members].free) text += fmt::format(" {}", number);
  return text;
}

// The first number that all ranks have free. A group is not gone on all of them at the same moment, so they must ask.
std::optional<int> agree(const std::vector<std::string>& lists) {
  std::map<int, std::size_t> votes;
  for (const std::string& list : lists) {
    std::istringstream numbers(list.substr(1));
    for (int number = 0; numbers >> number;) {
      if (++votes[number] == lists.size()) return number;
    }
  }
  return std::nullopt;
}

// All ranks must have come here: until the communicator is made, nothing else of oneCCL moves in this process. The
// attempt outlives a caller whose patience ends, so it owns all that it needs.
Handle make(const BackendRequest& request, const Patience& patience) {
  const auto made = std::make_shared<Handle>();
  const auto store = c10::make_intrusive<c10d::PrefixStore>("new/", request.store);
  Worker::get().call(
      [made, store, rank = request.rank] {
        const auto kvs = std::make_shared<StoreKvs>(store, [] {
          Worker::get().check();
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        });
        *made = std::make_shared<::ccl::communicator>(::ccl::create_communicator(rank.size, rank.rank, kvs));
      },
      patience);
  return *made;
}

}  // namespace

std::unique_ptr<Communicator> Communicator::acquire(const BackendRequest& request, const Patience& patience) {
  c10d::Store& store = *request.store;
  std::string members;
  for (const std::string& name : exchange(store, request.rank, "process", process_name(), patience))
    members += name + " ";
  const auto number = agree(exchange(store, request.rank, "free", free_numbers(members), patience));
  if (number) {
    const std::lock_guard lock(cache().mutex);
    auto node = cache().entries[members].free.extract(*number);
    if (node.empty()) throw UsageError("two threads make a group of the same ranks at the same time");
    return std::make_unique<Communicator>(members, *number, std::move(node.mapped()));
  }
  Handle handle = make(request, patience);
  const std::lock_guard lock(cache().mutex);
  auto made = std::make_unique<Communicator>(members, cache().entries[members].made++, std::move(handle));
  made->fresh_ = true;
  return made;
}

Communicator::Communicator(std::string members, int number, std::shared_ptr<::ccl::communicator> handle)
    : members_(std::move(members)), number_(number), handle_(std::move(handle)) {}

Communicator::~Communicator() {
  const std::lock_guard lock(cache().mutex);
  cache().entries[members_].free.emplace(number_, std::move(handle_));
}

}  // namespace lockstep::comm::ccl
