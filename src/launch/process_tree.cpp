#include "process_tree.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

struct Status {
  char state = '?';
  pid_t parent = 0;
  unsigned flags = 0;
};

constexpr unsigned kExiting = 0x4;  // the kernel's PF_EXITING

// From /proc/PID/stat, where the name in parentheses may hold anything, parentheses too.
std::optional<Status> read_status(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  Status status;
  int ignored = 0;  // group, session, terminal, the terminal's group
  fields >> status.state >> status.parent >> ignored >> ignored >> ignored >> ignored >> status.flags;
  return status;
}

std::optional<pid_t> pid_in(const std::string& name) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return pid;
}

std::multimap<pid_t, pid_t> children_by_parent() {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; entry != end; entry.increment(error)) {
    const auto pid = pid_in(entry->path().filename());
    if (!pid) continue;
    if (const auto status = read_status(*pid); status && status->state != 'Z') children.emplace(status->parent, *pid);
  }
  return children;
}

// False when this process has no child any more, dead or alive.
bool collect_the_dead() {
  for (;;) {
    const pid_t collected = ::waitpid(-1, nullptr, WNOHANG);
    if (collected == 0) return true;
    if (collected < 0) return false;
  }
}

std::vector<pid_t> descendants() {
  const auto children = children_by_parent();
  std::vector<pid_t> found{::getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

}  // namespace

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void end_descendants(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (collect_the_dead()) {
    for (const pid_t pid : descendants()) ::kill(pid, SIGKILL);
    if (std::chrono::steady_clock::now() > deadline) return;
    std::this_thread::sleep_for(2ms);
  }
}

ProcessState process_state(pid_t pid) {
  const auto status = read_status(pid);
  if (!status) return {};
  if ((status->flags & kExiting) != 0) return {.ending = true, .text = "dying"};
  switch (status->state) {
    case 'T':
    case 't':
      return {.stopped = true, .text = "stopped"};
    case 'R':
      return {.text = "running"};
    case 'Z':
      return {.ending = true, .text = "dead"};
    default:
      break;
  }
  std::string place;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/wchan"), place);
  const std::string how = status->state == 'D' ? "waiting for a device" : "sleeping";
  return {.text = place.empty() || place == "0" ? how : how + " in " + place};
}

}  // namespace lockstep::launch
