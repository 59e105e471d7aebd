#include "ask.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/text.h>

#include "../program.h"

namespace lockstep::launch {
namespace {

// Files without a name, in memory: unlike pipes they never fill up while nobody reads.
UniqueFd memory_file(const std::string& content) {
  UniqueFd fd(::memfd_create("lockstep-submit", MFD_CLOEXEC));
  if (!fd) throw system_error("cannot make a file in memory", errno);
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t count = ::write(fd.get(), content.data() + done, content.size() - done);
    if (count < 0 && errno != EINTR) throw system_error("cannot write a file in memory", errno);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::string content_of(const UniqueFd& fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  off_t offset = 0;
  for (ssize_t count = 0; (count = ::pread(fd.get(), buffer.data(), buffer.size(), offset)) > 0; offset += count) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

struct FileActions {
  FileActions() { ::posix_spawn_file_actions_init(&actions); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions); }
  posix_spawn_file_actions_t actions{};
};

std::string last_line(const std::string& text) {
  std::string last;
  for (const std::string& line : split(text, '\n')) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

std::string ask(const std::vector<std::string>& words, const std::string& input) {
  const std::string program = find_program(words.front()).string();
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const UniqueFd in = memory_file(input), out = memory_file("");
  FileActions files;
  ::posix_spawn_file_actions_adddup2(&files.actions, in.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files.actions, out.get(), STDOUT_FILENO);
  pid_t pid = -1;
  if (const int error = ::posix_spawn(&pid, program.c_str(), &files.actions, nullptr, argv.data(), environ)) {
    throw system_error(fmt::format("cannot execute '{}'", program), error);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw RuntimeError({.message = fmt::format("{} did not take the job", words.front()),
                        .found = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                                   : fmt::format("signal {}", WTERMSIG(status)),
                        .next = "what it said stands above; without --now the script is only printed"});
  }
  return last_line(content_of(out));
}

}  // namespace lockstep::launch
