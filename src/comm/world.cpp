#include <lockstep/comm/world.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <lockstep/base/log.h>

#include "backend.h"
#include "guard.h"
#include "rendezvous.h"

namespace lockstep {
namespace {

c10::intrusive_ptr<c10d::ProcessGroup> make_process_group(const WorldOptions& options, const Placement& placement) {
  const RankId id = placement.rank;
  auto store = comm::meet(placement, options.timeout);
  // The names that Python's init_process_group uses, so that C++ and Python ranks can be in one job.
  auto job_store = c10::make_intrusive<c10d::PrefixStore>("default_pg", store);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(c10::make_intrusive<c10d::PrefixStore>("0/", job_store), id.rank,
                                                       id.size);
  const comm::BackendRequest request{
      .store = c10::make_intrusive<c10d::PrefixStore>("cpu/", c10::make_intrusive<c10d::PrefixStore>("0/", job_store)),
      .rank = id,
      .interface_address = id.size == 1                              ? "127.0.0.1"
                           : placement.master_address == "127.0.0.1" ? placement.master_address
                                                                     : "",
      .timeout = options.timeout};
  const comm::MadeBackend made =
      comm::guarded("connecting the ranks", [&] { return comm::make_backend(options.backend, request); });
  group->setBackend(c10::DeviceType::CPU, made.type, made.backend);
  group->setDefaultBackend(made.type);
  return group;
}

}  // namespace

World::World(const WorldOptions& options) : World(options, discover_placement()) {}

World::World(const WorldOptions& options, Placement placement)
    : Group(make_process_group(options, placement)), placement_(std::move(placement)) {
  log::configure({.rank = id()});
}

}  // namespace lockstep
