// Gloo, from libtorch: TCP between the ranks.
#include <lockstep/base/comm_cpus.h>
#include <lockstep/base/environment.h>

#include "../../base/sigpipe_blocked.h"
#include "../backend.h"
#include "watched_gloo.h"

namespace lockstep::comm {
namespace {

// The interface that the user named, else the one that the ranks meet on, else Gloo's own choice.
std::shared_ptr<::gloo::transport::Device> choose_device(const std::string& interface_address) {
  using c10d::ProcessGroupGloo;
  if (const auto interface = env::get("GLOO_SOCKET_IFNAME"))
    return ProcessGroupGloo::createDeviceForInterface(*interface);
  if (!interface_address.empty()) return ProcessGroupGloo::createDeviceForHostname(interface_address);
  return ProcessGroupGloo::createDefaultDevice();
}

}  // namespace

MadeBackend make_gloo(const BackendRequest& request) {
  const OnCommCpus place_of_its_threads;
  const SigpipeBlocked no_sigpipe_in_them;
  auto options = c10d::ProcessGroupGloo::Options::create(request.timeout);
  options->devices.push_back(choose_device(request.interface_address));
  return {c10::make_intrusive<WatchedGloo>(request, options), c10d::ProcessGroup::BackendType::GLOO};
}

}  // namespace lockstep::comm
