// oneCCL as a c10d::Backend: the plugin `ccl`.
#include "../backend.h"
#include "../engine_backend.h"
#include "ccl_engine.h"
#include "communicator.h"
#include "messages.h"
#include "oneccl.h"
#include "shared_memory_names.h"
#include "signal_handlers.h"

namespace lockstep::comm::ccl {
namespace {

std::unique_ptr<Engine> make_engine(const BackendRequest& request) {
  const Operation joining{.name = "joining the ranks through oneCCL"};
  const OperationPatience patience(joining, request.timeout, *request.watch);
  auto messages = make_messages(request, patience);
  if (request.rank.size == 1) return std::make_unique<CclEngine>(request.rank, nullptr, std::move(messages));
  const SignalHandlers handlers;
  const SharedMemoryNames names;
  start_oneccl(request.one_node());
  auto communicator = Communicator::acquire(request, patience);
  const bool fresh = communicator->fresh();
  auto engine = std::make_unique<CclEngine>(request.rank, std::move(communicator), std::move(messages));
  if (fresh) names.meet(*engine, request.rank.size, patience);
  return engine;
}

}  // namespace
}  // namespace lockstep::comm::ccl

extern "C" __attribute__((visibility("default"))) void lockstep_make_backend(
    const lockstep::comm::BackendRequest& request, lockstep::comm::MadeBackend& made) {
  made = {c10::make_intrusive<lockstep::comm::EngineBackend>(
              "ccl", request.rank, lockstep::comm::ccl::make_engine(request), request.timeout, request.watch),
          c10d::ProcessGroup::BackendType::CUSTOM};
}
