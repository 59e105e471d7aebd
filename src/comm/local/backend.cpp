// `local` as a c10d::Backend.
#include "../backend.h"
#include "../engine_backend.h"
#include "local.h"

namespace lockstep::comm {

MadeBackend make_local(const BackendRequest& request) {
  const LocalMeeting meeting{
      .publish = [&](const std::string& key, const std::string& value) { request.store->set(key, value); },
      .look_up = [&](const std::string& key) { return request.store->get_to_str(key); }};
  const Operation joining{.name = "joining the shared memory"};
  const OperationPatience patience(joining, request.timeout, *request.watch);
  return {c10::make_intrusive<EngineBackend>("local", request.rank, make_local_engine(request.rank, meeting, patience),
                                             request.timeout, request.watch),
          c10d::ProcessGroup::BackendType::CUSTOM};
}

}  // namespace lockstep::comm
