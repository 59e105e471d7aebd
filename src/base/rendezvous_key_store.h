#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <lockstep/base/rendezvous.h>

namespace lockstep::rendezvous {

// The keys and values of a rendezvous, within its limits. A change that would exceed them throws RuntimeError and is
// not made.
class KeyStore {
 public:
  explicit KeyStore(const RendezvousLimits& limits) : max_keys_(limits.keys), max_bytes_(limits.bytes) {}

  // Throws RuntimeError when no key may be that long.
  static void require_possible(std::string_view key);

  // The value, or null. Valid until the next change.
  const std::string* find(std::string_view key) const;

  void set(std::string_view key, std::string_view value);
  std::int64_t add(std::string_view key, std::int64_t amount);
  std::string compare_set(std::string_view key, std::string_view expected, std::string_view desired);
  bool erase(std::string_view key);
  std::size_t size() const { return values_.size(); }

 private:
  std::size_t max_keys_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace lockstep::rendezvous
