// Masks that the user lists, held against the machine.
#pragma once
#include <string>
#include <vector>

#include <lockstep/launch/machine.h>

namespace lockstep::launch {

// Throws UsageError when there is not one for each rank, when one is empty, and when one has cpus that are not there or
// that this process may not use. Masks that have cpus in common are allowed, with a warning.
void check_masks(const Machine& machine, int ranks, const std::vector<std::vector<int>>& masks,
                 std::vector<std::string>& warnings);

// The cores of a mask, in the machine's order, with those of their hardware threads that are in it.
std::vector<Core> cores_of_mask(const Machine& machine, const std::vector<int>& mask);

}  // namespace lockstep::launch
