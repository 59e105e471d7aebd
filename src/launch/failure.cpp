#include "failure.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <set>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <lockstep/base/text.h>

#include "lines.h"

namespace lockstep::launch {
namespace {

constexpr std::int64_t kSameMoment = 2;  // seconds; the clocks of nodes differ

const Failure* find(const std::vector<Failure>& failures, int rank) {
  const auto found = std::find_if(failures.begin(), failures.end(), [&](const auto& f) { return f.end.rank == rank; });
  return found == failures.end() ? nullptr : &*found;
}

// Signals that come from outside or from a fault; a program that gives up by itself exits or aborts.
bool was_struck_down(const RankEnd& end) {
  static const std::set<int> kSignals = {SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  return kSignals.contains(end.signal);
}

std::string meaning(const RankEnd& end) {
  switch (end.signal) {
    case SIGKILL:
      return end.out_of_memory ? "the kernel ended it because memory ran out"
                               : "somebody or a scheduler killed it; the kernel counts no kill for want of memory";
    case SIGILL:
      return "an instruction that this CPU lacks: the program was built for a newer one";
    case SIGBUS:
      return "memory behind a mapping is gone: a full /dev/shm, or a file that was cut";
    case SIGSEGV:
      return "it used memory that is not its own";
    case SIGABRT:
      return "it gave up by itself: an exception that nobody caught, or a failed assertion";
    case SIGFPE:
      return "an integer was divided by zero";
    case SIGPIPE:
      return "it wrote to a pipe that nobody reads";
    case SIGXCPU:
      return "its limit of CPU time was used up";
    case SIGTERM:
      return "somebody or a scheduler asked it to end";
    default:
      return "";
  }
}

std::string ending(const Failure& failure) {
  if (!failure.how.empty()) return failure.how;
  const RankEnd& end = failure.end;
  if (end.signal == 0) return fmt::format("exited with code {}", end.exit_code);
  return fmt::format("was ended by signal {} ({})", end.signal, ::strsignal(end.signal));
}

void append(std::string& text, std::string_view name, const std::string& value) {
  if (!value.empty()) text += fmt::format("\n  {}: {}", name, escape_controls(value));
}

// Foreign lines, indented; each is made harmless by itself.
void append_lines(std::string& text, std::string_view title, const std::string& lines) {
  if (lines.empty()) return;
  std::string body = with_prefix("  | ", escape_controls(lines, /*keep_newlines=*/true));
  while (body.ends_with('\n')) body.pop_back();
  text += fmt::format("\n  {}:\n{}", title, body);
}

}  // namespace

const Failure& first_failure(const std::vector<Failure>& failures) {
  const Failure* first = &failures.front();
  for (const Failure& other : failures) {
    if (!first->waits) break;
    if (!other.waits && !other.how.empty()) first = &other;
  }
  for (const Failure& other : failures) {
    if (was_struck_down(first->end) || first->end.blamed_rank >= 0) break;
    if (was_struck_down(other.end) && std::abs(other.end.time - first->end.time) <= kSameMoment) first = &other;
  }
  std::set<int> seen;
  while (first->end.blamed_rank >= 0 && seen.insert(first->end.rank).second) {
    const Failure* blamed = find(failures, first->end.blamed_rank);
    if (blamed == nullptr) break;
    first = blamed;
  }
  return *first;
}

std::string describe(const Failure& failure, int size) {
  const RankEnd& end = failure.end;
  const std::time_t time = end.time;
  const std::string age = format_duration(std::chrono::duration<double>(end.age));
  if (!failure.lost_node.empty()) {
    return fmt::format("{} was lost after {}, and rank {} of {} with it: {}", failure.how, age, end.rank, size,
                       failure.lost_node);
  }
  std::string text = fmt::format("rank {} of {} failed first: it {} after {}", end.rank, size, ending(failure), age);
  append(text, "where",
         fmt::format("{}, pid {}, at {:%Y-%m-%d %H:%M:%S}", failure.host, end.pid, fmt::localtime(time)));
  if (failure.how.empty()) append(text, "meaning", meaning(end));
  append(text, "doing", end.doing);
  // Most programs print the error that ends them.
  if (end.last_lines.find(end.error) == std::string::npos) append_lines(text, "error", end.error);
  append_lines(text, "last lines of its stderr", end.last_lines);
  return text;
}

std::string describe_others(const std::vector<Failure>& failures, const Failure& first) {
  std::vector<std::string> words;
  for (const Failure& other : failures) {
    if (&other == &first) continue;
    words.push_back(other.end.signal != 0 ? fmt::format("rank {} (signal {})", other.end.rank, other.end.signal)
                                          : fmt::format("rank {} (exit code {})", other.end.rank, other.end.exit_code));
  }
  return format_some(words, 16);
}

}  // namespace lockstep::launch
