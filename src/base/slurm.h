// What Slurm writes into its tasks' environment.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// "n[1-3,07],login" as the hosts that it stands for: n1, n2, n3, n07, login. Throws UsageError when it is not a host
// list, or stands for more than 65,536 hosts.
std::vector<std::string> expand_slurm_hosts(std::string_view list);

}  // namespace lockstep
