#include <lockstep/parallel/broadcast.h>
#include <lockstep/parallel/sync.h>

#include "optimizer_state.h"
#include "same_parameters.h"

namespace lockstep {

void broadcast_parameters(const NamedTensors& tensors, const Group& group, int root) {
  constexpr const char* kWho = "broadcast_parameters";
  const auto list = parallel::require_same(group, kWho, "", [&] { return parallel::distinct(kWho, tensors); });
  broadcast_tensors(tensors_of(list), group, root);
}

void broadcast_optimizer_state(torch::optim::Optimizer& optimizer, const Group& group, int root) {
  const bool gives = group.rank() == root;
  const std::string state = group.broadcast_text(gives ? parallel::save_state(optimizer) : "", root);
  if (!gives) parallel::load_state(optimizer, state);
}

}  // namespace lockstep
