// Ranks of the local engine for tests.
#pragma once
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <lockstep/base/errors.h>

#include "comm/local/local_engine.h"

namespace lockstep::comm::local {

// A test that would hang fails instead.
class Deadline final : public Patience {
 public:
  explicit Deadline(std::chrono::milliseconds limit = std::chrono::seconds(60))
      : end_(std::chrono::steady_clock::now() + limit) {}
  void check() const override {
    if (std::chrono::steady_clock::now() > end_) throw RuntimeError("the deadline has passed");
  }

 private:
  std::chrono::steady_clock::time_point end_;
};

// Runs `body` on that many ranks, each a thread. All use one mapping of the memory, so that the thread sanitizer sees
// what they do to it. Throws what the first failing rank threw.
inline void run_ranks(int size, const std::function<void(LocalEngine& engine, int rank)>& body) {
  auto segment = std::make_shared<Segment>(size);
  segment->add_usable_cores();
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        LocalEngine engine(segment, rank);
        body(engine, rank);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

template <typename T>
Elements elements_of(std::vector<T>& values, c10::ScalarType type) {
  return {values.data(), static_cast<std::int64_t>(values.size()), type};
}

template <typename T>
Block block_of(std::vector<T>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
ConstBlock const_block_of(const std::vector<T>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace lockstep::comm::local
