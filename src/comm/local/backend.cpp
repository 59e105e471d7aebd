// `local` as a c10d::Backend.
#include "../backend.h"
#include "../engine_backend.h"
#include "store_meeting.h"

namespace lockstep::comm {

MadeBackend make_local(const BackendRequest& request) {
  const Operation joining{.name = "joining the shared memory"};
  const OperationPatience patience(joining, request.timeout, *request.watch);
  return {c10::make_intrusive<EngineBackend>("local", request.rank,
                                             make_local_engine(request.rank, meet_at(request.store), patience),
                                             request.timeout, request.watch),
          c10d::ProcessGroup::BackendType::CUSTOM};
}

}  // namespace lockstep::comm
