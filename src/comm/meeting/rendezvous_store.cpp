#include "rendezvous_store.h"

namespace lockstep::comm {
namespace {

std::string_view text_of(const RendezvousStore::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

RendezvousStore::Bytes bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace

c10::intrusive_ptr<c10d::Store> RendezvousStore::clone() {
  return c10::make_intrusive<RendezvousStore>(token_, options_, timeout_);
}

void RendezvousStore::set(const std::string& key, const Bytes& value) {
  client_.set(key, text_of(value));
}

RendezvousStore::Bytes RendezvousStore::compareSet(const std::string& key, const Bytes& expected,
                                                   const Bytes& desired) {
  return bytes_of(client_.compare_set(key, text_of(expected), text_of(desired)));
}

RendezvousStore::Bytes RendezvousStore::get(const std::string& key) {
  return bytes_of(client_.get(key, timeout_));
}

std::int64_t RendezvousStore::add(const std::string& key, std::int64_t value) {
  return client_.add(key, value);
}

bool RendezvousStore::deleteKey(const std::string& key) {
  return client_.delete_key(key);
}

bool RendezvousStore::check(const std::vector<std::string>& keys) {
  return client_.check(keys);
}

std::int64_t RendezvousStore::getNumKeys() {
  return client_.num_keys();
}

void RendezvousStore::wait(const std::vector<std::string>& keys) {
  client_.wait(keys, timeout_);
}

void RendezvousStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  client_.wait(keys, timeout);
}

}  // namespace lockstep::comm
