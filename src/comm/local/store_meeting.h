#pragma once
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "local.h"

namespace lockstep::comm {

// Ranks that tell one another through a store, which is their group's alone, where the shared memory is.
inline LocalMeeting meet_at(const c10::intrusive_ptr<c10d::Store>& store) {
  return {.publish = [store](const std::string& key, const std::string& value) { store->set(key, value); },
          .look_up = [store](const std::string& key) { return store->get_to_str(key); }};
}

}  // namespace lockstep::comm
