#pragma once
#include <string>

namespace lockstep::launch {

// The address at which other hosts reach this one: that of the interface which LOCKSTEP_INTERFACE names, else the one
// that the way to `peer` leaves from, else the one of this host's name. No packet is sent.
std::string own_address(const std::string& peer);

}  // namespace lockstep::launch
