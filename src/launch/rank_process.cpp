#include "rank_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "process_tree.h"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

constexpr auto kStoppedTooLong = 3s;
// What one rank may say in a turn, so that a chatty one leaves time to the others; and at its end, when a child that it
// left may go on for ever.
constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr int kPiecesAtTheEnd = 64;

// Processes that the kernel has ended so far because memory ran out.
std::int64_t kills_for_memory() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

}  // namespace

RankProcess::OutputPipe::OutputPipe() : Pipe(make_pipe()) {
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
}

ChildOptions RankProcess::with_pipes(const RankProcessOptions& options, const OutputPipe& out, const OutputPipe& err,
                                     int page) {
  ChildOptions child = options.child;
  child.out = out.write_end.get();
  child.err = err.write_end.get();
  child.inherited.push_back(page);
  child.environment["LOCKSTEP_RANK_PAGE_FD"] = std::to_string(page);
  return child;
}

RankProcess::RankProcess(const RankProcessOptions& options, EventLoop& loop, RankListener& listener)
    : rank_(options.rank),
      heartbeat_(options.heartbeat),
      loop_(loop),
      listener_(listener),
      child_(with_pipes(options, out_, err_, page_.fd())),
      kills_for_memory_(kills_for_memory()) {
  out_.write_end.reset();
  err_.write_end.reset();
  read_output(true);
  if (child_.end_fd() >= 0) loop_.watch(child_.end_fd(), [this] { poll(); });
}

RankProcess::~RankProcess() {
  if (child_.end_fd() >= 0) loop_.unwatch(child_.end_fd());
  close(out_, Stream::kOut);
  close(err_, Stream::kErr);
}

void RankProcess::read_output(bool on) {
  for (const auto& [pipe, stream] : {std::pair(&out_, Stream::kOut), std::pair(&err_, Stream::kErr)}) {
    if (!pipe->read_end) continue;
    if (on) {
      watch(*pipe, stream);
    } else {
      loop_.unwatch(pipe->read_end.get());
    }
  }
}

void RankProcess::watch(OutputPipe& pipe, Stream stream) {
  loop_.watch(pipe.read_end.get(), [this, &pipe, stream] { read_some(pipe, stream); });
}

void RankProcess::read_some(OutputPipe& pipe, Stream stream) {
  std::array<char, kPiece> bytes;
  const ssize_t count = ::read(pipe.read_end.get(), bytes.data(), bytes.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return close(pipe, stream);
  note_life();
  pass_on(stream, pipe.lines.add({bytes.data(), static_cast<std::size_t>(count)}));
}

void RankProcess::read_rest(OutputPipe& pipe, Stream stream) {
  for (int i = 0; i < kPiecesAtTheEnd && pipe.read_end; ++i) read_some(pipe, stream);
  close(pipe, stream);
}

void RankProcess::close(OutputPipe& pipe, Stream stream) {
  if (!pipe.read_end) return;
  loop_.unwatch(pipe.read_end.get());
  pipe.read_end.reset();
  pass_on(stream, pipe.lines.rest());
}

void RankProcess::pass_on(Stream stream, std::string lines) {
  if (lines.empty()) return;
  if (stream == Stream::kErr) tail_.add(lines);
  listener_.on_output({.rank = rank_, .stream = stream, .lines = std::move(lines)});
}

void RankProcess::poll() {
  const auto end = child_.poll();
  if (!end) return;
  if (child_.end_fd() >= 0) loop_.unwatch(child_.end_fd());
  read_rest(out_, Stream::kOut);
  read_rest(err_, Stream::kErr);
  const RankPage::Reading page = page_.read();
  listener_.on_end({.rank = rank_,
                    .pid = child_.pid(),
                    .exit_code = end->exit_code,
                    .signal = end->signal,
                    .asked = asked_,
                    .time = std::time(nullptr),
                    .age = child_.age().count(),
                    .out_of_memory = end->signal == SIGKILL && kills_for_memory() > kills_for_memory_,
                    .last_lines = tail_.text(),
                    .error = page.error,
                    .doing = doing(),
                    .blamed_rank = page.blamed_rank.value_or(-1)});
}

std::string RankProcess::doing() const {
  const RankPage::Reading page = page_.read();
  if (page.beats == 0) return "";
  const std::string when = format_duration(std::chrono::duration<double>(page.seconds));
  return page.done ? fmt::format("{}, done {} before", page.doing, when)
                   : fmt::format("in {} for {}", page.doing, when);
}

void RankProcess::note_life() {
  last_life_ = Clock::now();
  was_stopped_ = false;
}

void RankProcess::check() {
  if (!child_.running()) return;
  if (const std::uint64_t beats = page_.read().beats; beats != beats_) {
    beats_ = beats;
    note_life();
  }
  const ProcessState state = process_state(child_.pid());
  const auto now = Clock::now();
  if (!state.stopped) {
    stopped_since_.reset();
    told_of_stop_ = false;
  } else if (!stopped_since_) {
    stopped_since_ = now;
    was_stopped_ = true;
  }
  if (stopped_since_ && !told_of_stop_ && now - *stopped_since_ >= kStoppedTooLong) {
    told_of_stop_ = true;
    tell("stopped", *stopped_since_, state.text, false);
  }
  if (heartbeat_ > 0s && !told_of_silence_ && now - last_life_ >= heartbeat_) {
    told_of_silence_ = true;
    tell("silent", last_life_, state.text, true);
  }
}

void RankProcess::tell(const std::string& how, Clock::time_point since, const std::string& state, bool fatal) {
  const std::string words = doing();
  listener_.on_stuck(
      {.rank = rank_,
       .pid = child_.pid(),
       .how = fmt::format("has been {} for {}", how,
                          format_duration(std::chrono::floor<std::chrono::seconds>(Clock::now() - since))),
       .doing = words.empty() ? state : fmt::format("{}; {}", words, state),
       .fatal = fatal,
       .waits = !words.empty() && !page_.read().done && !was_stopped_});
}

void RankProcess::signal(int number) {
  if (!child_.running()) return;
  // A rank's connections close, and others die of that, a little before its own end can be seen: it was not asked.
  const bool asks = number != SIGUSR1 && number != SIGUSR2;
  if (asks && !process_state(child_.pid()).ending) asked_ = true;
  child_.signal(number);
  if (number != SIGKILL) child_.signal(SIGCONT);  // one that is stopped could not hear it
}

}  // namespace lockstep::launch
