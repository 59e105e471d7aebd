// One started process and everything that it starts in turn.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/base/affinity_mask.h>
#include <lockstep/base/fd.h>

namespace lockstep::launch {

using Variables = std::map<std::string, std::string>;

struct ChildOptions {
  std::filesystem::path program;
  std::vector<std::string> command;  // argv, the program's name among it
  Variables environment;             // over this process's own
  std::vector<int> inherited;        // descriptors that stay open, under their numbers
  AffinityMask affinity;             // the cores that it runs on
  int in = -1;                       // becomes its stdin; -1: /dev/null
  int out = -1;                      // -1: this process's own, here and below
  int err = -1;
};

struct ChildEnd {
  int exit_code = 0;  // 128 + signal when a signal ended it
  int signal = 0;
};

// The process leads a process group of its own. It is killed when this process dies, and its whole group when this
// object is destroyed.
class Child {
 public:
  // Throws RuntimeError when it cannot be executed or bound.
  explicit Child(const ChildOptions& options);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }

  // A descriptor that can be read once the process has ended; -1 where the kernel is too old to have such (before 5.3).
  int end_fd() const { return end_fd_.get(); }

  // Its end, if it has come since the last call; never blocks. After that the rest of its group is killed.
  std::optional<ChildEnd> poll();

  bool running() const { return running_; }
  std::chrono::duration<double> age() const { return std::chrono::steady_clock::now() - started_; }

  // Sends a signal to the process and all of its group.
  void signal(int number) const;

 private:
  pid_t pid_ = -1;
  UniqueFd end_fd_;
  bool running_ = false;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace lockstep::launch
