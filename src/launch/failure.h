#pragma once
#include <string>
#include <vector>

#include "rank_events.h"

namespace lockstep::launch {

// How an attempt of the job went wrong.
struct Failure {
  RankEnd end;            // of the rank; its exit code is the job's
  std::string host;       // where it was
  std::string how;        // instead of what the exit code says: "has been silent for 5 min"
  std::string lost_node;  // the whole of its node was lost, for this reason
  bool waits = false;     // it was stuck in a collective, perhaps because of another rank
};

// The one of `failures`, in the order in which they were heard of, that the others followed from: the first, unless it
// was stuck in a collective while another was stuck elsewhere, names a rank whose loss it died of, or another was
// struck down by a signal at the same moment: the death of a process shows to its peers before it shows to its
// launcher.
const Failure& first_failure(const std::vector<Failure>& failures);

// Which rank, where, when and how; what the signal means; what it was doing; its error, and its last lines.
std::string describe(const Failure& failure, int size);

// "rank 0 (exit code 1), rank 2 (signal 6)": those that failed after `first`.
std::string describe_others(const std::vector<Failure>& failures, const Failure& first);

}  // namespace lockstep::launch
