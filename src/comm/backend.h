// How a backend is made from its name.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/rank.h>

#include "watch.h"

namespace lockstep::comm {

struct BackendRequest {
  c10::intrusive_ptr<c10d::Store> store;
  RankId rank;
  std::string interface_address;  // where to listen; empty: wherever this host's name points
  std::chrono::milliseconds timeout{};
  std::shared_ptr<Watch> watch;
  std::vector<int> world_ranks;    // of the group's ranks
  std::vector<std::string> hosts;  // of the group's ranks; empty: not known

  bool one_node() const;  // all ranks of the group are known to be on one host
};

struct MadeBackend {
  c10::intrusive_ptr<c10d::Backend> backend;
  c10d::ProcessGroup::BackendType type = c10d::ProcessGroup::BackendType::UNDEFINED;
};

// `auto` is local on one node, local+gloo on several nodes with several ranks on one, else gloo. Throws UsageError for
// a name that there is none of; the error lists those there are.
MadeBackend make_backend(const std::string& name, const BackendRequest& request);

// Makes a backend from the plugin of that name (lockstep/base/plugin.h), which exports lockstep_make_backend.
MadeBackend make_from_plugin(const std::string& plugin, const BackendRequest& request);

MadeBackend make_gloo(const BackendRequest& request);
MadeBackend make_local(const BackendRequest& request);
MadeBackend make_mpi(const BackendRequest& request);

}  // namespace lockstep::comm
