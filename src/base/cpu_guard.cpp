// Refuses in words to run on a CPU below the build's base, where the first newer instruction would otherwise kill the
// program without a word. This file alone is compiled for plain x86-64, and its function runs before every other
// constructor of the program or library that it is linked into; it may call nothing but the kernel.
#include <unistd.h>

#include "cpu_levels.h"

namespace {

void say(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  // Nothing can be done about a closed stderr here.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, length);
}

constexpr int kEarliestPriority = 101;

__attribute__((constructor(kEarliestPriority))) void refuse_older_cpu() {
  constexpr int kBase = lockstep::cpu::parse_level(LOCKSTEP_CPU_BASE);
  const auto levels = lockstep::cpu::read_level_features();
  bool complete = true;
  for (const auto& feature : levels.features) {
    if (feature.level > kBase || feature.here) continue;
    say(complete ? "error: this CPU is older than the build's base, " LOCKSTEP_CPU_BASE "; it lacks " : ", ");
    say(feature.name);
    complete = false;
  }
  if (complete) return;
  say("\n  next: run on a newer node, or build with -DLOCKSTEP_CPU_BASE=x86-64\n");
  ::_exit(2);
}

}  // namespace
