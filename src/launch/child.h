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

namespace lockstep::launch {

struct ChildEnd {
  int exit_code = 0;  // 128 + signal when a signal ended it
  int signal = 0;
};

// The process leads a process group of its own. It is killed when the launcher dies, and its whole group when this
// object is destroyed.
class Child {
 public:
  using Environment = std::map<std::string, std::string>;

  // Starts `program` on `affinity`, with this process's environment and `additions` over it, and with the descriptor
  // `inherited` open beside the standard ones. Throws RuntimeError when it cannot be executed or bound.
  Child(const std::filesystem::path& program, const std::vector<std::string>& command, const Environment& additions,
        int inherited, const AffinityMask& affinity = {});
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }

  // Its end, if it has come since the last call; never blocks. After that the rest of its group is killed.
  std::optional<ChildEnd> poll();

  bool running() const { return running_; }
  std::chrono::duration<double> age() const { return std::chrono::steady_clock::now() - started_; }

  // Sends a signal to the process and all of its group.
  void signal(int number) const;

 private:
  pid_t pid_ = -1;
  bool running_ = false;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace lockstep::launch
