// What a program says that trains in turns: one line of JSON when it is ready, and one for each turn.
#pragma once
#include <cstdint>
#include <string>

namespace lockstep::bench {

inline constexpr std::size_t kMostOfALine = 1 << 16;

struct Ready {
  std::int64_t parameters = 0;  // numbers that the model learns
  std::string about;            // a library and its version
};

struct Turn {
  double samples_per_second = 0;  // of all ranks
  std::int64_t peak_memory = 0;   // bytes of all ranks so far: of the processes on a CPU, of tensors on a GPU
};

std::string to_line(const Ready& ready);
std::string to_line(const Turn& turn);

// Throw RuntimeError for anything else; where the line is {"error": TEXT}, with that.
Ready parse_ready(const std::string& line);
Turn parse_turn(const std::string& line);

}  // namespace lockstep::bench
