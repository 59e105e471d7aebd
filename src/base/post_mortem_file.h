// What a rank leaves behind when something went wrong: LOCKSTEP_POST_MORTEM/rank-N.json, with its last collectives and
// its stack. `lockstep info --post-mortem` reads the files of all ranks together.
#pragma once
#include <string>

#include <lockstep/base/rank.h>

namespace lockstep {

// From now on write_post_mortem works, and a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) writes the file before it
// ends the process, unless the program has handlers of its own. `job` tells the files of one job from older ones. The
// folder is LOCKSTEP_POST_MORTEM, by default lockstep-post-mortem in the working directory; `off` switches it off. The
// stack is that of the calling thread. Only the first call counts.
void prepare_post_mortem(RankId rank, const std::string& job);

// Writes the file, with the reason in words; once: what happens later is a consequence. Never throws: what it cannot do
// it says in the log. Returns the file, or an empty path when there is none.
std::string write_post_mortem(const std::string& reason);

}  // namespace lockstep
