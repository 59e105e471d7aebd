#include "running_command.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <fstream>
#include <stdexcept>

#include <lockstep/base/fd.h>

#include "command.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kMark = "LOCKSTEP_TEST_COMMAND";

void send_into(const std::filesystem::path& file, int fd) {
  ::dup2(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), fd);
}

}  // namespace

RunningCommand::RunningCommand(const std::vector<std::string>& argv,
                               const std::map<std::string, std::string>& environment) {
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ > 0) return;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  send_into(folder_.path() / "stdout", STDOUT_FILENO);
  send_into(folder_.path() / "stderr", STDERR_FILENO);
  ::setenv(kMark, folder_.path().c_str(), 1);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

RunningCommand::~RunningCommand() {
  if (!exit_code_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  eventually(
      [this] {
        const std::vector<int> left = processes();
        for (const int pid : left) ::kill(pid, SIGKILL);
        return left.empty();
      },
      10s);
}

void RunningCommand::signal(int number) const {
  if (!exit_code_) ::kill(pid_, number);
}

std::optional<int> RunningCommand::wait(std::chrono::milliseconds limit) {
  int status = 0;
  if (!exit_code_ && eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, limit)) {
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return exit_code_;
}

std::vector<int> RunningCommand::processes() const {
  return processes_with(std::string(kMark) + "=" + folder_.path().string());
}

std::vector<int> processes_with(const std::string& entry) {
  std::vector<int> found;
  std::error_code error;
  for (std::filesystem::directory_iterator folder("/proc", error), end; folder != end; folder.increment(error)) {
    const std::string name = folder->path().filename();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    std::ifstream variables(folder->path() / "environ");
    for (std::string variable; std::getline(variables, variable, '\0');) {
      if (variable != entry) continue;
      found.push_back(std::stoi(name));
      break;
    }
  }
  return found;
}

std::vector<int> children_of(int pid) {
  const std::string number = std::to_string(pid);
  std::ifstream list("/proc/" + number + "/task/" + number + "/children");
  std::vector<int> children;
  for (int child = 0; list >> child;) {
    if (process_runs(child)) children.push_back(child);
  }
  return children;
}

std::string free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no port is free");
  }
  return std::to_string(ntohs(address.sin_port));
}

}  // namespace lockstep::test
