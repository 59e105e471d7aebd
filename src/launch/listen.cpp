#include "listen.h"

#include <lockstep/base/errors.h>

#include "../base/rendezvous_socket.h"

namespace lockstep::launch {

UniqueFd listen_as_told(const std::string& address, int port) {
  try {
    return rendezvous::listen_on(address, port);
  } catch (const RuntimeError& error) {
    throw UsageError(error.parts());
  }
}

}  // namespace lockstep::launch
