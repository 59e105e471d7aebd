#include <lockstep/comm/world.h>

#include <numeric>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <lockstep/base/log.h>
#include <lockstep/base/openmp.h>

#include "group_context.h"
#include "life_line.h"
#include "rendezvous.h"

namespace lockstep {
namespace {

bool all_equal(const std::vector<std::string>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

std::shared_ptr<GroupContext> make_context(const WorldOptions& options, const Placement& placement) {
  const RankId id = placement.rank;
  log::configure({.rank = id});  // first: what follows may have something to say
  comm::Meeting meeting = comm::meet(placement, options.timeout);
  auto context = std::make_shared<GroupContext>();
  context->backend = options.backend;
  // The names that Python's init_process_group uses, so that C++ and Python ranks can be in one job.
  context->store =
      c10::make_intrusive<c10d::PrefixStore>("0/", c10::make_intrusive<c10d::PrefixStore>("default_pg", meeting.store));
  context->world_ranks.resize(static_cast<std::size_t>(id.size));
  std::iota(context->world_ranks.begin(), context->world_ranks.end(), 0);
  context->interface_address = all_equal(meeting.hosts) ? "127.0.0.1" : "";
  context->hosts = std::move(meeting.hosts);
  context->timeout = options.timeout;
  context->loss = std::move(meeting.loss);
  context->life_line = std::move(meeting.life_line);
  comm::connect(*context, id);
  return context;
}

}  // namespace

World::World(const WorldOptions& options) : World(options, discover_placement()) {}

World::World(const WorldOptions& options, Placement placement)
    : Group(make_context(options, placement)), placement_(std::move(placement)) {
  warn_of_several_openmp_runtimes();
}

}  // namespace lockstep
