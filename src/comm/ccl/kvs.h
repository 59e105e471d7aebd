#pragma once
#include <functional>

#include <oneapi/ccl.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace lockstep::comm::ccl {

// The key-value store through which the ranks of a new communicator find one another, kept in the job's own store: that
// one knows the job's token, and oneCCL opens no port for one of its own.
//
// oneCCL asks for a key again and again until it is there; `meanwhile` is called after each question in vain, and may
// throw.
class StoreKvs final : public ::ccl::kvs_interface {
 public:
  StoreKvs(c10::intrusive_ptr<c10d::Store> store, std::function<void()> meanwhile);

  ::ccl::vector_class<char> get(const ::ccl::string_class& key) override;
  void set(const ::ccl::string_class& key, const ::ccl::vector_class<char>& value) override;

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  std::function<void()> meanwhile_;
};

}  // namespace lockstep::comm::ccl
