// Another program, run to its end.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace lockstep {

struct ProgramOptions {
  std::string input = {};  // of stdin
  std::chrono::milliseconds time = std::chrono::seconds(30);
  std::size_t most_output = std::size_t{64} << 20;
};

struct ProgramResult {
  bool found = true;       // false: there is no such program
  bool timed_out = false;  // and was killed
  std::string output;      // of stdout
  std::string errors;      // the beginning of stderr
  std::string complaint;   // what is wrong; empty when it ended with exit code 0
};

// Runs a program found by PATH, without a shell, and waits for its end. It is killed when it takes too long or writes
// too much. Throws RuntimeError when it cannot be started for another reason than that it is missing.
ProgramResult run_program(const std::vector<std::string>& words, const ProgramOptions& options = {});

}  // namespace lockstep
