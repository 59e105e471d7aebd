// The `local` engine: shared memory between the ranks of one node. No port, no socket, and no name in any file system,
// so nothing can be left behind.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include <lockstep/base/rank.h>

#include "../engine.h"

namespace lockstep::comm {

// How the ranks tell one another where the shared memory is, before they have it.
struct LocalMeeting {
  std::function<void(const std::string& key, const std::string& value)> publish;
  std::function<std::string(const std::string& key)> look_up;  // waits until the key is there; throws at its deadline
};

// Collective: every rank of the group calls it, with the same size. Throws RuntimeError, on every rank, when some of
// them cannot share memory, because they are on different hosts or in different containers.
std::unique_ptr<Engine> make_local_engine(RankId self, const LocalMeeting& meeting, const Patience& patience);

}  // namespace lockstep::comm
