// The line that shows how far something has come.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace lockstep::train {

// On a terminal the line is drawn again in place, at most ten times a second; elsewhere only the last state is printed,
// as a plain line. Ranks other than 0 pass `visible = false`.
class Progress {
 public:
  Progress(std::string title, std::int64_t total, bool visible);

  // `details` is what stands behind the bar, such as "9,710 samples/s  loss 0.171".
  void update(std::int64_t done, const std::string& details);

  // Draws the last state and ends the line.
  void finish(const std::string& details);

 private:
  void draw(std::int64_t done, const std::string& details) const;

  std::string title_;
  std::int64_t total_;
  bool visible_;
  bool live_;
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace lockstep::train
