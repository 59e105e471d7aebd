#pragma once
#include <memory>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/rendezvous_client.h>

namespace lockstep::comm {

// The job's authenticated rendezvous as a c10d::Store.
class RendezvousStore : public c10d::Store {
 public:
  RendezvousStore(std::shared_ptr<RendezvousClient> client, std::chrono::milliseconds timeout)
      : Store(timeout), client_(std::move(client)) {}

  using Bytes = std::vector<std::uint8_t>;
  using Store::compareSet;
  using Store::set;

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
  std::shared_ptr<RendezvousClient> client_;
};

}  // namespace lockstep::comm
