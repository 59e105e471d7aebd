#pragma once
#include <chrono>
#include <functional>
#include <memory>

namespace lockstep {

// A collective or message under way. The tensors that it was given must not be touched until it has been waited for;
// they are kept alive by it. Dropping it does not stop it.
class Work {
 public:
  bool done() const;

  // Throws what went wrong; TimeoutError when the group's timeout passed.
  void wait();

  // Throws TimeoutError when it is not done within `timeout`; it goes on, and may be waited for again.
  void wait(std::chrono::milliseconds timeout);

  // Calls `callback` when it is done or has failed, in the thread that finds out; here and now if that is so already,
  // or on a GPU.
  void on_done(std::function<void()> callback);

  // The rank that sent what was received from any rank; after wait().
  int source() const;

  struct State;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

}  // namespace lockstep
