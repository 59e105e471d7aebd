#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::tensorboard {

struct ProgramLimits {
  std::chrono::milliseconds time = std::chrono::seconds(30);
  std::size_t output = std::size_t{64} << 20;
};

struct ProgramResult {
  bool found = true;      // false: there is no such program
  std::string output;     // of stdout
  std::string complaint;  // what is wrong; empty when it ended with exit code 0
};

// Runs a program found by PATH, without a shell and without input, and waits for its end. It is killed when it takes
// too long or writes too much. Throws RuntimeError when it cannot be started for another reason than that it is
// missing.
ProgramResult run_program(const std::vector<std::string>& words, const ProgramLimits& limits = {});

}  // namespace lockstep::tensorboard
