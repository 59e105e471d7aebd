#pragma once
#include <memory>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/rendezvous_client.h>

namespace lockstep::comm {

// The job's authenticated rendezvous as a c10d::Store.
class RendezvousStore : public c10d::Store {
 public:
  RendezvousStore(const Token& token, const RendezvousClientOptions& options, std::chrono::milliseconds timeout)
      : Store(timeout), token_(token), options_(options), client_(token, options) {}

  using Bytes = std::vector<std::uint8_t>;
  using Store::compareSet;
  using Store::set;

  // With a connection of its own, so that one may wait while the other is used.
  c10::intrusive_ptr<Store> clone() override;
  void set(const std::string& key, const Bytes& value) override;
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override;
  Bytes get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;

 private:
  Token token_;
  RendezvousClientOptions options_;
  RendezvousClient client_;
};

}  // namespace lockstep::comm
