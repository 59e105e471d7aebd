// What the ranks of a node ask for, counted in cores.
#pragma once
#include <string>

#include <lockstep/base/errors.h>
#include <lockstep/launch/binding.h>

namespace lockstep::launch {

struct Demand {
  int ranks;
  const BindingOptions& options;

  // Cores of a rank that compute: those that its threads take, or one where their number is left open.
  int compute_cores() const;
  // Those for communication with them.
  int cores_of_rank() const { return compute_cores() + options.cores_for_comm; }

  // "4 ranks x (24 + 4 cores) = 112 cores, and the machine has 56"
  UsageError exceeds(int ranks_there, std::size_t cores_there, const std::string& where) const;
};

// The kind of binding that is asked for. auto is by core only where the job can be taken to have the machine for
// itself: two jobs of a few threads each would both be put on the first cores. A quota is a hint of company, too, and
// so are GPUs that are left to others.
//
// Throws UsageError for options that no machine, or not this one, can fulfil.
BindKind choose_kind(const Machine& machine, const Demand& demand);

}  // namespace lockstep::launch
