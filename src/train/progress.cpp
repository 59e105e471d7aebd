#include <lockstep/train/progress.h>

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

#include <lockstep/base/environment.h>

namespace lockstep::train {
namespace {

constexpr std::int64_t kBarWidth = 20;
constexpr auto kRedrawInterval = std::chrono::milliseconds(100);

// Its own, or that of the launcher which prints what this process writes.
bool has_terminal() {
  return ::isatty(STDOUT_FILENO) == 1 || env::get("LOCKSTEP_TERMINAL").has_value();
}

std::string repeat(const char* text, std::int64_t count) {
  std::string result;
  for (std::int64_t i = 0; i < count; ++i) result += text;
  return result;
}

}  // namespace

Progress::Progress(std::string title, std::int64_t total, bool visible)
    : title_(std::move(title)), total_(total), visible_(visible), live_(visible && has_terminal()) {}

void Progress::update(std::int64_t done, const std::string& details) {
  const auto now = std::chrono::steady_clock::now();
  if (!live_ || now - last_drawn_ < kRedrawInterval) return;
  last_drawn_ = now;
  draw(done, details);
}

void Progress::finish(const std::string& details) {
  if (!visible_) return;
  draw(total_, details);
  std::fputs("\n", stdout);
  std::fflush(stdout);
}

void Progress::draw(std::int64_t done, const std::string& details) const {
  const std::int64_t filled = total_ > 0 ? kBarWidth * done / total_ : kBarWidth;
  const char* clear_line = live_ ? "\r\x1b[K" : "";
  fmt::print("{}{} {}{} {}/{}  {}", clear_line, title_, repeat("━", filled), repeat("╌", kBarWidth - filled), done,
             total_, details);
  std::fflush(stdout);
}

}  // namespace lockstep::train
