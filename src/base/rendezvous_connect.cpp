#include "rendezvous_connect.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "rendezvous_auth.h"
#include "rendezvous_protocol.h"
#include "rendezvous_socket.h"

namespace lockstep::rendezvous {
namespace {

using namespace std::chrono_literals;

// Throws ConnectionError when it may go better another time, else RuntimeError.
void prove(const Token& token, int socket, Clock::time_point deadline) {
  // In two parts: a stranger may say less than a rendezvous would and then wait for us.
  std::string hello = receive_exactly(socket, kMagic.size(), deadline);
  require_magic(hello);
  hello += receive_exactly(socket, kHelloSize - kMagic.size(), deadline);
  const std::string nonce = nonce_in(hello);
  const std::string answer = answer_to(token, nonce);
  send_all(socket, answer, deadline);
  std::string proof;
  try {
    proof = receive_exactly(socket, kProofSize, deadline);
  } catch (const ConnectionError& error) {
    // The server closes in order on a wrong proof alone; a reset means that it had no room or has ended.
    if (error.cause() != ConnectionError::Cause::kClosed) throw;
  }
  if (!proof_is_right(token, nonce, answer, proof)) {
    throw RuntimeError({.message = "this process and the rendezvous hold different tokens: they are not of one job",
                        .next = "start all ranks with one launcher, or give them one LOCKSTEP_TOKEN_FILE"});
  }
}

}  // namespace

UniqueFd connect_as_member(const Token& token, const RendezvousClientOptions& options) {
  // A connection is given up earlier than the whole, in case that it alone is stuck.
  constexpr auto kOneTry = 10s;
  const std::string where = Endpoint{options.host, options.port}.text();
  const auto deadline = Clock::now() + bounded(options.connect_timeout);
  for (auto pause = 5ms;; pause = std::min(pause * 2, std::chrono::milliseconds(500))) {
    try {
      const auto this_deadline = std::min(deadline, Clock::now() + kOneTry);
      UniqueFd socket = connect_to(options.host, options.port, this_deadline);
      prove(token, socket.get(), this_deadline);
      return socket;
    } catch (const ConnectionError& error) {
      if (Clock::now() + pause >= deadline) {
        throw TimeoutError({.message = fmt::format("cannot reach the job's rendezvous at {} within {}: {}", where,
                                                   format_duration(options.connect_timeout), error.what()),
                            .next = "check that its process runs and that nothing blocks the port"});
      }
    } catch (const RuntimeError& error) {
      ErrorParts parts = error.parts();
      parts.operation = "meeting at " + where;
      throw RuntimeError(std::move(parts));
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace lockstep::rendezvous
