// The line that shows how far something has come.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace lockstep {

// On a terminal the line is drawn again in place, at most ten times a second. Elsewhere a plain line is printed at each
// `plain_interval`, if there is one, and for the last state. Ranks other than 0 pass `visible = false`.
class Progress {
 public:
  // A `total` of 0 is not known.
  Progress(std::string title, std::int64_t total, bool visible,
           std::optional<std::chrono::seconds> plain_interval = std::nullopt);

  // `details` is what stands behind the bar, such as "9,710 samples/s  loss 0.171".
  void update(std::int64_t done, const std::string& details);

  // Draws the last state and ends the line.
  void finish(const std::string& details);

 private:
  void draw(std::int64_t done, const std::string& details) const;

  std::string title_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  bool visible_;
  bool live_;
  std::optional<std::chrono::steady_clock::duration> interval_;  // between two drawings; none: only the last
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace lockstep
