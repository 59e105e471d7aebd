#pragma once
#include <string>

#include <lockstep/comm/group.h>
#include <lockstep/parallel/module_state.h>

namespace lockstep::parallel {

// Collective. Throws UsageError on every rank when some rank has a `problem` (a sentence; empty: none), or when the
// ranks' modules differ in names, shapes, types or layouts: the error names the first difference and its ranks. So no
// rank goes on while another has given up.
void require_same_module(const ModuleState& state, const Group& group, const std::string& problem = "");

}  // namespace lockstep::parallel
