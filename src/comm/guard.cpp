#include "guard.h"

#include <thread>

namespace lockstep::comm {
namespace {

constexpr auto kNewsTravels = std::chrono::seconds(1);

}  // namespace

RuntimeError failed(const std::string& operation, const std::string& what, const LossFlag* loss) {
  const auto deadline = std::chrono::steady_clock::now() + kNewsTravels;
  while (loss != nullptr && !loss->raised() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (loss == nullptr || !loss->raised()) return RuntimeError(operation + " failed: " + what);
  return RuntimeError({.message = operation + " failed: " + loss->reason(), .found = what});
}

}  // namespace lockstep::comm
