#include "guard.h"

#include <thread>

namespace lockstep::comm {
namespace {

constexpr auto kNewsTravels = std::chrono::seconds(1);

}  // namespace

bool loss_is_known(const LossFlag& loss) {
  const auto deadline = std::chrono::steady_clock::now() + kNewsTravels;
  while (!loss.raised() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return loss.raised();
}

std::string first_line(const std::string& what) {
  return what.substr(0, what.find('\n'));
}

RuntimeError failed(const std::string& operation, const std::string& what, const LossFlag* loss) {
  if (loss == nullptr || !loss_is_known(*loss)) return RuntimeError(operation + " failed: " + what);
  return RuntimeError({.message = operation + " failed: " + loss->reason(), .found = what});
}

}  // namespace lockstep::comm
