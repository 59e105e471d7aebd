#include <lockstep/base/rendezvous_server.h>

#include <sys/socket.h>

#include <csignal>
#include <thread>
#include <utility>

#include <lockstep/base/errors.h>

#include "rendezvous_loop.h"
#include "rendezvous_socket.h"

namespace lockstep {
namespace {

UniqueFd require_listening(UniqueFd socket) {
  int listens = 0;
  socklen_t length = sizeof(listens);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0) {
    throw UsageError("the descriptor given to the rendezvous is not a socket that listens");
  }
  return socket;
}

// Keeps signals from the threads that are started meanwhile: they are for the program's own.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

std::thread start(rendezvous::Loop& loop) {
  const SignalsBlocked blocked;
  return std::thread([&loop] { loop.run(); });
}

}  // namespace

class RendezvousServer::Thread {
 public:
  Thread(const Token& token, UniqueFd listener, const RendezvousLimits& limits)
      : endpoint(rendezvous::local_endpoint(listener.get())),
        loop(token, std::move(listener), limits),
        thread_(start(loop)) {}
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() {
    loop.stop();
    thread_.join();
  }

  const rendezvous::Endpoint endpoint;
  rendezvous::Loop loop;

 private:
  std::thread thread_;
};

RendezvousServer::RendezvousServer(const Token& token, const RendezvousServerOptions& options)
    : RendezvousServer(token, rendezvous::listen_on(options.address, options.port), options.limits) {}

RendezvousServer::RendezvousServer(const Token& token, UniqueFd listener, const RendezvousLimits& limits)
    : thread_(std::make_unique<Thread>(token, require_listening(std::move(listener)), limits)) {}

RendezvousServer::~RendezvousServer() = default;

const std::string& RendezvousServer::address() const {
  return thread_->endpoint.address;
}

int RendezvousServer::port() const {
  return thread_->endpoint.port;
}

std::uint64_t RendezvousServer::turned_away() const {
  return thread_->loop.turned_away();
}

}  // namespace lockstep
