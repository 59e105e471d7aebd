#pragma once
#include <vector>

#include <lockstep/comm/group.h>
#include <lockstep/config/schema.h>

namespace lockstep::train {

// Collective. Throws UsageError on every rank when ranks have different configs, with the keys that differ and who
// has which value; eight of them, and how many more there are.
void require_same_config(const std::vector<config::Setting>& settings, const Group& group);

}  // namespace lockstep::train
