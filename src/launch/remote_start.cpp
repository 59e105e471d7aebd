#include "remote_start.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "program.h"

namespace lockstep::launch {
namespace {

// One word for the shell that ssh starts at the other end, whichever that is; what submit writes is for bash alone.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

ChildOptions RemoteStart::child_options(const std::vector<std::string>& command, const Pipe& in, const Pipe& said) {
  return {.program = find_program(command.front()),
          .command = command,
          .environment = {},
          .inherited = {},
          .in = in.read_end.get(),
          .out = said.write_end.get(),
          .err = said.write_end.get()};
}

RemoteStart::RemoteStart(std::string what, const std::vector<std::string>& command, const Token& token, EventLoop& loop)
    : what_(std::move(what)),
      loop_(loop),
      in_(make_pipe()),
      said_(make_pipe()),
      child_(std::make_unique<Child>(child_options(command, in_, said_))) {
  in_.read_end.reset();
  said_.write_end.reset();
  ::fcntl(said_.read_end.get(), F_SETFL, O_NONBLOCK);
  token.write(in_.write_end.get());
  loop_.watch(said_.read_end.get(), [this] { hear(); });
}

RemoteStart::~RemoteStart() {
  if (said_.read_end) loop_.unwatch(said_.read_end.get());
}

void RemoteStart::hear() {
  std::array<char, 4096> bytes;
  const ssize_t count = ::read(said_.read_end.get(), bytes.data(), bytes.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  std::string lines = count > 0 ? lines_.add({bytes.data(), static_cast<std::size_t>(count)}) : lines_.rest();
  std::erase(lines, '\r');  // ssh ends its lines as for a terminal
  tail_.add(lines);
  if (speaks_) print(lines);
  if (count > 0) return;
  loop_.unwatch(said_.read_end.get());
  said_.read_end.reset();
}

void RemoteStart::speak_up() {
  if (std::exchange(speaks_, true)) return;
  print(tail_.text());
}

void RemoteStart::print(const std::string& lines) const {
  const std::string text = with_prefix(what_ + ": ", escape_controls(lines, /*keep_newlines=*/true));
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

std::optional<std::string> RemoteStart::failure() {
  if (!end_) end_ = child_->poll();
  if (!end_) return std::nullopt;
  while (said_.read_end) {  // its last words may still be in the pipe
    const std::string before = tail_.text();
    hear();
    if (tail_.text() == before) break;
  }
  std::string words = tail_.text();
  while (words.ends_with('\n')) words.pop_back();
  return words.empty() ? fmt::format("its starter ended with code {}", end_->exit_code) : words;
}

std::vector<std::string> ssh_command(const std::string& ssh, const std::string& host,
                                     const std::vector<std::string>& agent) {
  std::vector<std::string> command;
  for (std::string& word : split(ssh, ' ')) {
    if (!word.empty()) command.push_back(std::move(word));
  }
  if (command.empty()) throw UsageError({.message = "--ssh names no program", .expected = "ssh, with its options"});
  if (std::filesystem::path(command.front()).filename() == "ssh") {
    // No questions, no terminal, and no wait for hosts that are gone.
    command.insert(command.end(), {"-T", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o",
                                   "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2"});
  }
  command.push_back(host);
  std::string line = "exec";
  for (const std::string& word : agent) line += " " + quoted(word);
  command.push_back(std::move(line));
  return command;
}

std::vector<std::string> srun_command(int nodes, const std::vector<std::string>& agent) {
  const std::string count = std::to_string(nodes);
  std::vector<std::string> command = {"srun",        "--nodes=" + count, "--ntasks=" + count, "--ntasks-per-node=1",
                                      "--mpi=none",  "--overlap",        "--cpu-bind=none",   "--kill-on-bad-exit=0",
                                      "--input=all", "--quiet"};
  // A task that shall start a node's ranks needs all of the node's share of cores.
  if (const auto cores = env::get_int("SLURM_CPUS_ON_NODE", 1)) {
    command.push_back(fmt::format("--cpus-per-task={}", *cores));
  }
  command.insert(command.end(), agent.begin(), agent.end());
  return command;
}

std::vector<std::string> aprun_command(int nodes, const std::vector<std::string>& agent) {
  std::vector<std::string> command = {"aprun", "-n", std::to_string(nodes), "-N", "1", "-cc", "none", "-q"};
  command.insert(command.end(), agent.begin(), agent.end());
  return command;
}

}  // namespace lockstep::launch
