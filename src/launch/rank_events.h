// What a node tells of its ranks, to a job that may be in another process on another machine.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "printer.h"

namespace lockstep::launch {

struct RankOutput {
  int rank = 0;
  Stream stream = Stream::kOut;
  std::string lines;  // whole ones
};

struct RankEnd {
  int rank = 0;
  pid_t pid = 0;
  int exit_code = 0;  // 128 + signal when a signal ended it
  int signal = 0;
  bool asked = false;     // the launcher had asked it to end before
  std::int64_t time = 0;  // when, in seconds since 1970 by its node's clock
  double age = 0;         // seconds that it lived
  bool out_of_memory = false;
  std::string last_lines;  // of its stderr
  std::string error;       // in our format, if it said one
  std::string doing;       // its last collective, if it told
  int blamed_rank = -1;    // the rank that it knew to be lost

  bool failed() const { return exit_code != 0 && !asked; }
};

struct RankStuck {
  int rank = 0;
  pid_t pid = 0;
  std::string how;    // "has been stopped for 5 s", "has been silent for 5 min"
  std::string doing;  // its last collective, or where the kernel has it
  bool fatal = false;
  bool waits = false;  // in a collective, and so perhaps for another rank
};

class RankListener {
 public:
  virtual ~RankListener() = default;
  virtual void on_output(const RankOutput& output) = 0;
  virtual void on_end(const RankEnd& end) = 0;
  virtual void on_stuck(const RankStuck& stuck) = 0;
};

}  // namespace lockstep::launch
