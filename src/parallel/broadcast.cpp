#include <lockstep/parallel/broadcast.h>

#include <exception>
#include <string>
#include <typeinfo>

#include <c10/util/Type.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/parallel/sync.h>

#include "optimizer_state.h"
#include "same_parameters.h"

namespace lockstep {
namespace {

constexpr char kGood = '+';  // before the state, so that none at all is a state too

// Its parameters, by their places.
NamedTensors::List places_in(const torch::optim::Optimizer& optimizer) {
  NamedTensors::List list;
  for (std::size_t group = 0; group < optimizer.param_groups().size(); ++group) {
    const auto& parameters = optimizer.param_groups()[group].params();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      list.emplace_back(fmt::format("group {}, parameter {}", group + 1, i + 1), parameters[i]);
    }
  }
  return list;
}

}  // namespace

void broadcast_parameters(const NamedTensors& tensors, const Group& group, int root) {
  constexpr const char* kWho = "broadcast_parameters";
  const auto list = parallel::require_same(group, kWho, "", [&] { return parallel::distinct(kWho, tensors); });
  broadcast_tensors(tensors_of(list), group, root);
}

void broadcast_optimizer_state(torch::optim::Optimizer& optimizer, const Group& group, int root) {
  constexpr const char* kWho = "broadcast_optimizer_state";
  parallel::require_same_text(group, fmt::format("{}: the ranks have different optimizers", kWho),
                              c10::demangle(typeid(optimizer).name()));
  parallel::require_same(group, kWho, "", [&] { return places_in(optimizer); });
  const bool gives = group.rank() == root;
  std::string state;
  std::exception_ptr error;
  try {
    if (gives) state = kGood + parallel::save_state(optimizer);
  } catch (const std::exception&) {
    error = std::current_exception();  // thrown when the others know: they would wait for the state
  }
  state = group.broadcast_text(state, root);
  if (error) std::rethrow_exception(error);
  if (state.empty()) throw RuntimeError(fmt::format("rank {} could not save the optimizer's state", root));
  if (!gives) parallel::load_state(optimizer, state.substr(1));
}

}  // namespace lockstep
