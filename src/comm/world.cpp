#include <lockstep/comm/world.h>

#include <unistd.h>

#include <numeric>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <lockstep/base/comm_cpus.h>
#include <lockstep/base/environment.h>
#include <lockstep/base/log.h>
#include <lockstep/base/openmp.h>
#include <lockstep/base/rendezvous_server.h>

#include "../base/post_mortem_file.h"
#include "group_context.h"
#include "meeting/life_line.h"
#include "meeting/meet.h"
#include "monitor.h"

namespace lockstep {
namespace {

bool all_equal(const std::vector<std::string>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// The address that backends of libtorch listen on; empty: their own choice.
std::string where_to_listen(const std::vector<std::string>& hosts, const Placement& placement) {
  if (const auto interface = env::get("LOCKSTEP_INTERFACE")) return interface_address(*interface);
  if (!hosts.empty()) return all_equal(hosts) ? "127.0.0.1" : "";
  return placement.master_address == "127.0.0.1" || placement.master_address == "localhost" ? "127.0.0.1" : "";
}

// Who the program says it is, in either of the two ways to say so.
std::optional<RankId> known_rank(const WorldOptions& options) {
  const auto in_method = parse_init_method(options.init_method).rank;
  return options.rank ? options.rank : in_method;
}

// A name that this job alone has; the first rank to come makes it.
std::string job_name(c10d::Store& store) {
  if (store.add("lockstep/job/claims", 1) == 1) {
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    store.set("lockstep/job/name", fmt::format("{:x}-{}", now, ::getpid()));
  }
  return store.get_to_str("lockstep/job/name");
}

std::shared_ptr<GroupContext> make_context(const WorldOptions& options, const Placement& placement) {
  const RankId id = placement.rank;
  log::configure({.rank = id});  // first: what follows may have something to say
  divide_cpus();
  comm_cpus();  // a wrong list is an error here, where it can be caught, and not in some thread
  comm::Meeting meeting = comm::meet({.placement = placement,
                                      .method = parse_init_method(options.init_method),
                                      .backend = options.backend,
                                      .timeout = options.timeout});
  auto context = std::make_shared<GroupContext>();
  context->backend = options.backend;
  // The names that Python's init_process_group uses, so that C++ and Python ranks can be in one job.
  context->store =
      c10::make_intrusive<c10d::PrefixStore>("0/", c10::make_intrusive<c10d::PrefixStore>("default_pg", meeting.store));
  context->world_ranks.resize(static_cast<std::size_t>(id.size));
  std::iota(context->world_ranks.begin(), context->world_ranks.end(), 0);
  context->interface_address = where_to_listen(meeting.hosts, placement);
  context->farewell = std::move(meeting.farewell);
  context->hosts = std::move(meeting.hosts);
  context->timeout = options.timeout;
  context->loss = std::move(meeting.loss);
  context->life_line = std::move(meeting.life_line);
  // At a store of PyTorch's there may be ranks that answer nobody, and it may end before its ranks.
  if (context->life_line) context->monitor = std::make_shared<comm::Monitor>(*meeting.store, id, context->loss);
  prepare_post_mortem(id, job_name(*meeting.store));
  comm::connect(*context, id);
  return context;
}

}  // namespace

World::World(const WorldOptions& options) : World(options, discover_placement(known_rank(options))) {}

World::World(const WorldOptions& options, Placement placement)
    : Group(make_context(options, placement)), placement_(std::move(placement)) {
  warn_of_several_openmp_runtimes();
}

}  // namespace lockstep
