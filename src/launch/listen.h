#pragma once
#include <string>

#include <lockstep/base/fd.h>

namespace lockstep::launch {

// A socket that listens where the user wants it. Throws UsageError when it cannot: the port is in use, or the address
// is not one of this machine's.
UniqueFd listen_as_told(const std::string& address, int port);

}  // namespace lockstep::launch
