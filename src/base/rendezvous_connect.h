#pragma once
#include <lockstep/base/fd.h>
#include <lockstep/base/rendezvous_client.h>
#include <lockstep/base/token.h>

namespace lockstep::rendezvous {

// A connection on which both sides have proved the token. As RendezvousClient's constructor: tries until the deadline,
// throws at once when who answers is not this job's rendezvous.
UniqueFd connect_as_member(const Token& token, const RendezvousClientOptions& options);

}  // namespace lockstep::rendezvous
