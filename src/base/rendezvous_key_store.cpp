#include "rendezvous_key_store.h"

#include <charconv>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "rendezvous_protocol.h"

namespace lockstep::rendezvous {
namespace {

// Enough to recognize a key by, in an error.
std::string shortened(std::string_view key) {
  constexpr std::size_t kShown = 64;
  return key.size() <= kShown ? fmt::format("'{}'", key) : fmt::format("'{}...'", key.substr(0, kShown));
}

void require_size(std::string_view what, std::string_view key, std::size_t size, std::size_t limit) {
  if (size <= limit) return;
  throw RuntimeError({.message = fmt::format("{} {} is too large for the rendezvous", what, shortened(key)),
                      .found = format_bytes(size),
                      .expected = "at most " + format_bytes(limit)});
}

std::int64_t as_number(std::string_view key, const std::string& value) {
  std::int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc{} || stop != end) {
    throw RuntimeError({.message = fmt::format("cannot add to key {}: its value is not a number", shortened(key)),
                        .found = fmt::format("{} that begin with {}", format_bytes(value.size()), shortened(value)),
                        .expected = "a decimal number"});
  }
  return number;
}

}  // namespace

void KeyStore::require_possible(std::string_view key) {
  require_size("key", key, key.size(), kMaxKeySize);
}

const std::string* KeyStore::find(std::string_view key) const {
  const auto entry = values_.find(key);
  return entry == values_.end() ? nullptr : &entry->second;
}

void KeyStore::set(std::string_view key, std::string_view value) {
  require_possible(key);
  require_size("the value of key", key, value.size(), kMaxValueSize);
  const auto entry = values_.find(key);
  const bool is_new = entry == values_.end();
  if (is_new && values_.size() >= max_keys_) {
    throw RuntimeError({.message = fmt::format("no room at the rendezvous for key {}", shortened(key)),
                        .found = format_plural(static_cast<std::int64_t>(values_.size()), "key"),
                        .next = "delete keys that are no longer needed"});
  }
  const std::size_t before = is_new ? 0 : key.size() + entry->second.size();
  const std::size_t after = bytes_ - before + key.size() + value.size();
  if (after > max_bytes_) {
    throw RuntimeError({.message = fmt::format("no room at the rendezvous for the value of key {}", shortened(key)),
                        .found = format_bytes(after) + " in all",
                        .expected = "at most " + format_bytes(max_bytes_),
                        .next = "delete keys that are no longer needed"});
  }
  if (is_new) {
    values_.emplace(key, value);
  } else {
    entry->second = value;
  }
  bytes_ = after;
}

std::int64_t KeyStore::add(std::string_view key, std::int64_t amount) {
  const std::string* value = find(key);
  std::int64_t sum = 0;
  if (__builtin_add_overflow(value == nullptr ? 0 : as_number(key, *value), amount, &sum)) {
    throw RuntimeError(fmt::format("adding {} to key {} exceeds 64 bits", amount, shortened(key)));
  }
  set(key, std::to_string(sum));
  return sum;
}

std::string KeyStore::compare_set(std::string_view key, std::string_view expected, std::string_view desired) {
  const std::string* value = find(key);
  const std::string_view current = value == nullptr ? std::string_view() : *value;
  if (current != expected) return std::string(value == nullptr ? expected : current);
  set(key, desired);
  return std::string(desired);
}

bool KeyStore::erase(std::string_view key) {
  const auto entry = values_.find(key);
  if (entry == values_.end()) return false;
  bytes_ -= entry->first.size() + entry->second.size();
  values_.erase(entry);
  return true;
}

}  // namespace lockstep::rendezvous
