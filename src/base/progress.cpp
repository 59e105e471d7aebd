#include <lockstep/base/progress.h>

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

#include <lockstep/base/environment.h>

namespace lockstep {
namespace {

constexpr std::int64_t kBarWidth = 20;
constexpr auto kRedrawInterval = std::chrono::milliseconds(100);

// Its own, or that of the launcher which prints what this process writes.
bool has_terminal() {
  return ::isatty(STDOUT_FILENO) == 1 || env::get("LOCKSTEP_TERMINAL").has_value();
}

void end_line() {
  std::fputs("\n", stdout);
  std::fflush(stdout);
}

std::string repeat(const char* text, std::int64_t count) {
  std::string result;
  for (std::int64_t i = 0; i < count; ++i) result += text;
  return result;
}

}  // namespace

Progress::Progress(std::string title, std::int64_t total, bool visible,
                   std::optional<std::chrono::seconds> plain_interval)
    : title_(std::move(title)), total_(total), visible_(visible), live_(visible && has_terminal()) {
  if (live_) {
    interval_ = kRedrawInterval;
  } else if (visible_) {
    interval_ = plain_interval;
    last_drawn_ = std::chrono::steady_clock::now();
  }
}

void Progress::update(std::int64_t done, const std::string& details) {
  done_ = done;
  const auto now = std::chrono::steady_clock::now();
  if (!interval_ || now - last_drawn_ < *interval_) return;
  last_drawn_ = now;
  draw(done, details);
  if (!live_) end_line();
}

void Progress::finish(const std::string& details) {
  if (!visible_) return;
  draw(done_, details);
  end_line();
}

void Progress::draw(std::int64_t done, const std::string& details) const {
  const char* clear_line = live_ ? "\r\x1b[K" : "";
  if (total_ > 0) {
    const std::int64_t filled = kBarWidth * done / total_;
    fmt::print("{}{} {}{} {}/{}  {}", clear_line, title_, repeat("━", filled), repeat("╌", kBarWidth - filled), done,
               total_, details);
  } else {
    fmt::print("{}{} {}  {}", clear_line, title_, done, details);
  }
  std::fflush(stdout);
}

}  // namespace lockstep
