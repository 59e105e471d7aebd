#include "kvs.h"

#include <string>
#include <utility>

namespace lockstep::comm::ccl {
namespace {

std::string name_of(const ::ccl::string_class& key) {
  return std::string("kvs/") + key.c_str();
}

}  // namespace

StoreKvs::StoreKvs(c10::intrusive_ptr<c10d::Store> store, std::function<void()> meanwhile)
    : store_(std::move(store)), meanwhile_(std::move(meanwhile)) {}

::ccl::vector_class<char> StoreKvs::get(const ::ccl::string_class& key) {
  const std::string name = name_of(key);
  if (!store_->check({name})) {
    meanwhile_();
    return {};
  }
  const auto value = store_->get(name);
  return {value.begin(), value.end()};
}

void StoreKvs::set(const ::ccl::string_class& key, const ::ccl::vector_class<char>& value) {
  store_->set(name_of(key), std::vector<std::uint8_t>(value.begin(), value.end()));
}

}  // namespace lockstep::comm::ccl
