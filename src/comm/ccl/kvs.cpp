#include "kvs.h"

#include <chrono>
#include <thread>
#include <utility>

namespace lockstep::comm::ccl {
namespace {

constexpr auto kNap = std::chrono::milliseconds(1);

std::string name_of(const ::ccl::string_class& key) {
  return std::string("kvs/") + key.c_str();
}

}  // namespace

StoreKvs::StoreKvs(c10::intrusive_ptr<c10d::Store> store, const Patience& patience, std::unique_lock<std::mutex>& lock)
    : store_(std::move(store)), patience_(patience), lock_(lock) {}

::ccl::vector_class<char> StoreKvs::get(const ::ccl::string_class& key) {
  patience_.check();
  const std::string name = name_of(key);
  if (!store_->check({name})) {
    lock_.unlock();
    std::this_thread::sleep_for(kNap);
    lock_.lock();
    return {};
  }
  const auto value = store_->get(name);
  return {value.begin(), value.end()};
}

void StoreKvs::set(const ::ccl::string_class& key, const ::ccl::vector_class<char>& value) {
  store_->set(name_of(key), std::vector<std::uint8_t>(value.begin(), value.end()));
}

}  // namespace lockstep::comm::ccl
