#include "command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <lockstep/base/fd.h>

namespace lockstep::test {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  UniqueFd read, write;
};

// Appends what is there; false at the end of the stream.
bool drain(int fd, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& argv, const CommandOptions& options) {
  Pipe out, err;
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    ::setpgid(0, 0);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(out.write.get(), STDOUT_FILENO);
    ::dup2(err.write.get(), STDERR_FILENO);
    for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  out.write.reset();
  err.write.reset();

  CommandResult result;
  const auto deadline = std::chrono::steady_clock::now() + options.limit;
  while (out.read || err.read) {
    std::array<pollfd, 2> waits = {{{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}}};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(waits.data(), waits.size(), static_cast<int>(left.count())) == 0) {
      result.timed_out = true;
      break;
    }
    if (waits[0].revents != 0 && !drain(out.read.get(), result.out)) out.read.reset();
    if (waits[1].revents != 0 && !drain(err.read.get(), result.err)) err.read.reset();
  }
  if (result.timed_out) ::kill(-pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

std::string program_path(const std::string& name) {
  return std::string(LOCKSTEP_TEST_BIN) + "/" + name;
}

bool process_runs(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  const std::size_t after_name = text.rfind(')');
  return after_name != std::string::npos && text.compare(after_name + 1, 2, " Z") != 0;
}

void wait_a_moment() {
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace lockstep::test
