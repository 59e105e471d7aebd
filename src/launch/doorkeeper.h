#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include <lockstep/base/fd.h>
#include <lockstep/base/token.h>

#include "event_loop.h"

namespace lockstep::launch {

// Listens for agents and lets in those that prove the job's token; to strangers it gives a few seconds and no answer.
class Doorkeeper {
 public:
  using Admit = std::function<void(UniqueFd socket)>;

  // Throws UsageError when the address or the port cannot be had.
  Doorkeeper(const std::string& address, int port, const Token& token, EventLoop& loop, Admit admit);
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;
  ~Doorkeeper();

  const std::string& address() const { return address_; }
  int port() const { return port_; }

  // Call about once a second: sends those away whose time is up.
  void check();

 private:
  struct Stranger {
    UniqueFd socket;
    std::string nonce;
    std::string answer;
    Clock::time_point deadline;
  };

  void accept_one();
  void hear(int fd);
  void drop(int fd);

  const Token token_;
  EventLoop& loop_;
  const Admit admit_;
  UniqueFd listener_;
  std::string address_;
  int port_ = 0;
  std::map<int, Stranger> strangers_;
};

}  // namespace lockstep::launch
