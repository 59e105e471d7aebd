#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

namespace lockstep::data {

// Items made one after another, worked on by many threads, and handed out in the order in which they were made. Only so
// many are in flight that each thread has some: memory does not grow with their number.
template <typename Item, typename Result>
class OrderedWork {
 public:
  using Make = std::function<std::optional<Item>()>;  // nothing at the end; one thread at a time
  using Work = std::function<Result(Item&&)>;         // many threads at once

  // Throws std::system_error when the system does not give so many threads.
  OrderedWork(int workers, Make make, Work work)
      : make_(std::move(make)), work_(std::move(work)), slots_(static_cast<std::size_t>(workers) * 4) {
    threads_.reserve(static_cast<std::size_t>(workers));
    try {
      for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { run(); });
    } catch (...) {
      // Those that were made wait for room that nobody would give them.
      end();
      throw;
    }
  }
  ~OrderedWork() { end(); }
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;

  // Waits for the next result; nothing at the end. What making or working threw is thrown here, in its place.
  std::optional<Result> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return slot(taken_).has_value() || (ended_ && taken_ == made_); });
    if (!slot(taken_).has_value()) return std::nullopt;
    Outcome outcome = std::move(*slot(taken_));
    slot(taken_).reset();
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    if (auto* error = std::get_if<std::exception_ptr>(&outcome)) std::rethrow_exception(*error);
    return std::move(std::get<Result>(outcome));
  }

 private:
  using Outcome = std::variant<Result, std::exception_ptr>;

  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  std::optional<Outcome>& slot(std::size_t number) { return slots_[number % slots_.size()]; }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ended_ || (!making_ && made_ < taken_ + slots_.size()); });
      if (ended_) return;
      making_ = true;
      const std::size_t number = made_;
      lock.unlock();
      std::optional<Item> item;
      std::optional<Outcome> outcome = attempt([&]() -> std::optional<Outcome> {
        item = make_();
        return std::nullopt;
      });
      lock.lock();
      making_ = false;
      if (item || outcome) ++made_;
      if (!item) ended_ = true;
      lock.unlock();
      changed_.notify_all();
      if (item) outcome = attempt([&]() -> std::optional<Outcome> { return work_(std::move(*item)); });
      lock.lock();
      if (outcome) slot(number) = std::move(outcome);
      changed_.notify_all();
    }
  }

  template <typename Function>
  static std::optional<Outcome> attempt(const Function& function) {
    try {
      return function();
    } catch (...) {
      return std::current_exception();
    }
  }

  const Make make_;
  const Work work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Outcome>> slots_;
  std::size_t made_ = 0, taken_ = 0;
  bool making_ = false, ended_ = false;
  std::vector<std::jthread> threads_;  // the last member: they end before what they use
};

}  // namespace lockstep::data
