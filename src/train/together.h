#pragma once
#include <functional>

#include <lockstep/base/errors.h>
#include <lockstep/comm/group.h>

namespace lockstep::train {

// Collective. Runs `body`, in which ranks do not talk to each other, and throws on every rank when one of them threw:
// its own error on each rank whose error is another than the first rank's, else a copy of that one, of the same family
// and with that rank in it.
void together(const Group& group, const std::function<void()>& body);

// Whether it is another rank's business to tell of an error that together() threw.
inline bool is_told_by_another(const Error& error, const Group& group) {
  return error.parts().rank && error.parts().rank->rank != group.rank();
}

}  // namespace lockstep::train
