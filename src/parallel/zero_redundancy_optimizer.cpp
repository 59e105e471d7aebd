#include <lockstep/parallel/zero_redundancy_optimizer.h>

#include <unordered_map>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>

#include "optimizer_state.h"
#include "parameter_shares.h"
#include "same_parameters.h"

namespace lockstep {
namespace {

constexpr const char* kWho = "ZeroRedundancyOptimizer";
using Groups = ZeroRedundancyOptimizer::Groups;

Groups one_group(const NamedTensors& parameters) {
  return {torch::optim::OptimizerParamGroup(tensors_of(parallel::distinct(kWho, parameters)))};
}

std::string in_words(const Groups& groups) {
  std::vector<std::size_t> sizes;
  for (const auto& group : groups) sizes.push_back(group.params().size());
  return fmt::format("{} groups of {} parameters", groups.size(), fmt::join(sizes, ", "));
}

// The parameters that are in the groups, in the order of the names.
NamedTensors::List grouped(const NamedTensors& parameters, const Groups& groups) {
  std::unordered_map<const void*, int> times;
  for (const auto& group : groups) {
    for (const at::Tensor& parameter : group.params()) ++times[parameter.unsafeGetTensorImpl()];
  }
  auto list = parallel::distinct(kWho, parameters);
  for (const auto& [name, parameter] : list) {
    const int count = times[parameter.unsafeGetTensorImpl()];
    if (count != 1) {
      throw UsageError({.message = fmt::format("{}: '{}' must be in one group of parameters", kWho, name),
                        .found = fmt::format("{} of them", count)});
    }
  }
  if (times.size() != list.size()) throw UsageError(fmt::format("{}: a group has a parameter without a name", kWho));
  return list;
}

// Two optimizers of one kind over the same parameters, or some of them: what one remembers of those of the other.
void copy_state(const torch::optim::Optimizer& from, torch::optim::Optimizer& to) {
  for (const auto& group : to.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      const auto found = from.state().find(parameter.unsafeGetTensorImpl());
      if (found != from.state().end()) to.state()[parameter.unsafeGetTensorImpl()] = found->second->clone();
    }
  }
}

void copy_options(const torch::optim::Optimizer& from, torch::optim::Optimizer& to) {
  for (std::size_t i = 0; i < to.param_groups().size(); ++i) {
    to.param_groups()[i].set_options(from.param_groups()[i].options().clone());
  }
}

}  // namespace

class ZeroRedundancyOptimizer::Implementation {
 public:
  Implementation(const NamedTensors::List& parameters, Groups groups, Factory make, const Group& group)
      : group_(group),
        groups_(std::move(groups)),
        make_(std::move(make)),
        owners_(parallel::divide_by_size(tensors_of(parameters), group.size())),
        shares_(tensors_of(parameters), owners_) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      owner_of_[parameters[i].second.unsafeGetTensorImpl()] = owners_[i];
    }
    local_ = make_share(group.rank());
  }

  const Group& group() const { return group_; }
  const Groups& groups() const { return groups_; }
  torch::optim::Optimizer& local() const { return *local_; }
  void publish() { shares_.publish(group_); }

  std::unique_ptr<Optimizer> make_share(int rank) const {
    Groups share;
    for (const auto& group : groups_) {
      std::vector<at::Tensor> owned;
      for (const at::Tensor& parameter : group.params()) {
        if (owner_of_.at(parameter.unsafeGetTensorImpl()) == rank) owned.push_back(parameter);
      }
      share.emplace_back(std::move(owned), group.has_options() ? group.options().clone() : nullptr);
    }
    return made(share);
  }

  std::unique_ptr<Optimizer> make_whole() const { return made(groups_); }

 private:
  std::unique_ptr<Optimizer> made(const Groups& groups) const {
    auto optimizer = make_(groups);
    if (!optimizer) throw UsageError(fmt::format("{}: the factory has made no optimizer", kWho));
    return optimizer;
  }

  Group group_;
  Groups groups_;
  Factory make_;
  std::vector<int> owners_;
  std::unordered_map<const void*, int> owner_of_;
  parallel::ParameterShares shares_;
  std::unique_ptr<Optimizer> local_;
};

ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(const NamedTensors& parameters, Factory make, const Group& group)
    : ZeroRedundancyOptimizer(parameters, {}, std::move(make), group) {}

ZeroRedundancyOptimizer::ZeroRedundancyOptimizer(const NamedTensors& parameters, const Groups& groups, Factory make,
                                                 const Group& group)
    : Optimizer(Groups(), nullptr) {
  // What the factory refuses, or does not make, on one rank ends the attempt on all.
  parallel::require_same(group, kWho, in_words(groups), [&] {
    const Groups all = groups.empty() ? one_group(parameters) : groups;
    auto list = grouped(parameters, all);
    implementation_ = std::make_unique<Implementation>(list, all, std::move(make), group);
    return list;
  });
  defaults_ = implementation_->local().defaults().clone();
  for (const auto& each : implementation_->groups()) add_param_group(each);
  copy_options(implementation_->local(), *this);  // the factory may have given groups their own
}

ZeroRedundancyOptimizer::~ZeroRedundancyOptimizer() = default;

at::Tensor ZeroRedundancyOptimizer::step(LossClosure closure) {
  at::Tensor loss;
  if (closure) {
    const at::AutoGradMode enabled(true);
    loss = closure();
  }
  copy_options(*this, implementation_->local());
  implementation_->local().step();
  implementation_->publish();
  return loss;
}

torch::optim::Optimizer& ZeroRedundancyOptimizer::local() {
  return implementation_->local();
}

std::int64_t ZeroRedundancyOptimizer::local_state_bytes() const {
  return parallel::state_bytes(implementation_->local());
}

std::unique_ptr<torch::optim::Optimizer> ZeroRedundancyOptimizer::make_whole() const {
  auto whole = implementation_->make_whole();
  copy_options(*this, *whole);
  return whole;
}

std::unique_ptr<torch::optim::Optimizer> ZeroRedundancyOptimizer::consolidate(int root) const {
  const Group& group = implementation_->group();
  const bool is_root = group.rank() == root;
  if (!is_root) parallel::send_state(group, implementation_->local(), root);
  std::unique_ptr<Optimizer> whole = is_root ? make_whole() : nullptr;
  // One rank after the other, so that the root holds one share at a time beside the whole.
  for (int rank = 0; is_root && rank < group.size(); ++rank) {
    const auto share = implementation_->make_share(rank);
    if (rank == root) {
      parallel::load_state(*share, parallel::save_state(implementation_->local()));
    } else {
      parallel::receive_state(group, *share, rank);
    }
    copy_state(*share, *whole);
  }
  return whole;
}

void ZeroRedundancyOptimizer::distribute(const Optimizer* whole, int root) {
  const Group& group = implementation_->group();
  const bool is_given = group.rank() != root || whole != nullptr;
  if (group.all_reduce_value(std::int64_t{is_given ? 1 : 0}, Reduce::kMin) == 0) {
    throw UsageError(fmt::format("{}: rank {} has to give the whole optimizer", kWho, root));
  }
  if (group.rank() != root) {
    parallel::receive_state(group, implementation_->local(), root);
  } else {
    for (int rank = 0; rank < group.size(); ++rank) {
      const auto share = implementation_->make_share(rank);
      copy_options(*whole, *share);
      copy_state(*whole, *share);
      if (rank == root) {
        parallel::load_state(implementation_->local(), parallel::save_state(*share));
      } else {
        parallel::send_state(group, *share, rank);
      }
    }
  }
  copy_options(implementation_->local(), *this);
}

void ZeroRedundancyOptimizer::save(torch::serialize::OutputArchive&) const {
  throw UsageError({.message = "a ZeroRedundancyOptimizer holds a part of the state only",
                    .next = "call consolidate() on every rank, and save what it returns on one"});
}

void ZeroRedundancyOptimizer::load(torch::serialize::InputArchive&) {
  throw UsageError({.message = "a ZeroRedundancyOptimizer holds a part of the state only",
                    .next = "load into make_whole() on one rank, and call distribute() on every rank"});
}

}  // namespace lockstep
