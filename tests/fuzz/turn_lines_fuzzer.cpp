#include <lockstep/base/errors.h>

#include "bench/turn_lines.h"

// The same line as a program's first word and as the result of a turn. What is understood is written and understood
// again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::bench;
  const std::string line(reinterpret_cast<const char*>(data), size);
  try {
    const Ready ready = parse_ready(line);
    if (parse_ready(to_line(ready)).parameters != ready.parameters) __builtin_trap();
  } catch (const lockstep::RuntimeError&) {
    // What is wrong was said.
  }
  try {
    const Turn turn = parse_turn(line);
    if (parse_turn(to_line(turn)).samples_per_second != turn.samples_per_second) __builtin_trap();
  } catch (const lockstep::RuntimeError&) {
  }
  return 0;
}
