#include "meet.h"

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/token.h>

#include "../../base/host_name.h"
#include "courier.h"
#include "life_line.h"
#include "own_server.h"
#include "rendezvous_store.h"
#include "torch_store.h"

namespace lockstep::comm {
namespace {

Meeting meet_alone() {
  Meeting meeting;
  meeting.store = c10::make_intrusive<c10d::HashStore>();
  meeting.hosts = {host_name()};
  return meeting;
}

Meeting meet_at_launcher(const std::string& where, const MeetingRequest& request) {
  const auto endpoint = parse_endpoint(where);
  if (!endpoint) {
    throw UsageError({.message = "LOCKSTEP_RENDEZVOUS is not understood", .found = where, .expected = "ADDRESS:PORT"});
  }
  const auto token = Token::from_environment();
  if (!token) {
    throw UsageError({.message = "LOCKSTEP_RENDEZVOUS is set, but the job's token was not inherited",
                      .next = "start the rank directly under lockstep run, or pass on LOCKSTEP_TOKEN_FD"});
  }
  return join_rendezvous(*token, {.host = endpoint->host, .port = endpoint->port, .connect_timeout = request.timeout},
                         request.placement.rank, "the launcher", request.timeout);
}

Meeting meet_at_store(c10::intrusive_ptr<c10d::Store> store, const std::string& address,
                      const MeetingRequest& request) {
  if (request.backend == "gloo") {
    Meeting meeting;
    meeting.store = std::move(store);
    return meeting;
  }
  const RankId rank = request.placement.rank;
  return meet_at_rank_0(rank, address, make_store_courier(std::move(store), rank), request.timeout);
}

Meeting meet_at_tcp(const Endpoint& where, const MeetingRequest& request) {
  return meet_at_store(meet_at_tcp_store(where, request.placement.rank, request.timeout), where.host, request);
}

Meeting meet_by_environment(const MeetingRequest& request) {
  const Placement& placement = request.placement;
  if (placement.master_address.empty() || !placement.master_port) {
    throw UsageError({.message = fmt::format("{} ranks, but no place to meet", placement.rank.size),
                      .expected = "MASTER_ADDR and MASTER_PORT, the same for all ranks",
                      .next = "start the ranks with lockstep run, mpirun or srun, or set both variables"});
  }
  return meet_at_tcp({placement.master_address, *placement.master_port}, request);
}

// Ranks that a cluster's launcher started, and who were told nothing but their numbers.
Meeting meet_by_courier(const MeetingRequest& request) {
  const Placement& placement = request.placement;
  const std::string address = placement.on_one_node()    ? "127.0.0.1"
                              : placement.rank.rank == 0 ? address_of_this_host(placement.master_address)
                                                         : "";
  const auto by_mpi = [&] { return make_mpi_courier(placement.rank, request.timeout); };
  // MPI is left to the program unless it is what the backend needs anyway, or the only way.
  Courier courier = request.backend.ends_with("mpi") ? by_mpi() : Courier{};
  if (!courier) courier = make_file_courier(placement, request.timeout);
  if (!courier) courier = by_mpi();
  if (!courier) return meet_by_environment(request);
  return meet_at_rank_0(placement.rank, address, courier, request.timeout);
}

}  // namespace

Meeting join_rendezvous(const Token& token, const RendezvousClientOptions& options, RankId rank,
                        const std::string& server, std::chrono::milliseconds timeout) {
  Meeting meeting;
  meeting.life_line = std::make_shared<LifeLine>(
      token, options, Member{.id = rank, .host = host_name(), .pid = ::getpid()}, server, meeting.loss);
  for (const Member& member : meeting.life_line->wait_for_world(timeout)) meeting.hosts.push_back(member.host);
  meeting.store = c10::make_intrusive<RendezvousStore>(token, options, timeout);
  return meeting;
}

Meeting meet(const MeetingRequest& request) {
  const Placement& placement = request.placement;
  if (placement.rank.size == 1) return meet_alone();
  switch (request.method.kind) {
    case InitMethod::Kind::kTcp:
      return meet_at_tcp({request.method.host, request.method.port}, request);
    case InitMethod::Kind::kFile:
      return meet_at_store(meet_at_file_store(request.method.path, placement.rank, request.timeout),
                           address_of_this_host(""), request);
    case InitMethod::Kind::kEnvironment:
      return meet_by_environment(request);
    case InitMethod::Kind::kAutomatic:
      break;
  }
  if (const auto where = env::get("LOCKSTEP_RENDEZVOUS")) return meet_at_launcher(*where, request);
  if (env::get("MASTER_ADDR") || placement.source == "the program") return meet_by_environment(request);
  return meet_by_courier(request);
}

}  // namespace lockstep::comm
