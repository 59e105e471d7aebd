// Training in turns that another program asks for, one at a time.
#pragma once
#include <iosfwd>

#include <lockstep/bench/step.h>

namespace lockstep::bench {

// Collective. Trains options.model in the first of options.modes. Says in a line that it is warm; then, for each line
// of `requests`, which is a number of seconds, trains about so long and answers with a line. Rank 0 alone reads and
// writes. Returns when the requests end. Throws as measure_step does, and UsageError for a request that is no number.
void serve_turns(const Group& group, const StepOptions& options, std::istream& requests, std::ostream& answers);

}  // namespace lockstep::bench
