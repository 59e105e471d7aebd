#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::launch {

struct Host {
  std::string name;
  int ranks = 0;  // 0: not said

  bool operator==(const Host&) const = default;
};

// "a" or "b:4", each host once. Throws UsageError that names the word that is wrong.
std::vector<Host> parse_hosts(const std::vector<std::string>& words);

// A host a line, as Open MPI ("a slots=4") or MPICH ("a:4") has them; # begins a comment. Throws UsageError that names
// the line.
std::vector<Host> read_hostfile(const std::filesystem::path& path);

// A scheduler's list, in which a host stands once for each rank that it may have: such repetitions are added up.
std::vector<Host> read_nodefile(const std::filesystem::path& path);

// Whether a name or address means this machine.
bool is_this_host(const std::string& name);

}  // namespace lockstep::launch
