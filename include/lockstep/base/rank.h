#pragma once
#include <string>

namespace lockstep {

// Which of the job's processes this is. A program started alone is rank 0 of 1.
struct RankId {
  int rank = 0;
  int size = 1;

  // "[2/4]", the prefix of every line that a rank prints.
  std::string label() const { return "[" + std::to_string(rank) + "/" + std::to_string(size) + "]"; }
};

}  // namespace lockstep
