// The verbs that need libtorch: `lockstep` becomes `lockstep-torch`, which lies beside it; with -n it starts that many
// ranks of it, and for the backend mpi has MPI's own launcher start them.
#include <algorithm>
#include <charconv>
#include <string>

#include <lockstep/base/errors.h>
#include <lockstep/launch/mpi_launcher.h>
#include <lockstep/launch/require_no_rank.h>
#include <lockstep/launch/run.h>

#include "become.h"
#include "verbs.h"

namespace lockstep::app {
namespace {

// Takes "-n N" or "--ranks N" out of the words; 0 when it is not there.
int take_ranks(std::vector<std::string>& words) {
  const auto flag = std::find_if(words.begin(), words.end(), [](const auto& w) { return w == "-n" || w == "--ranks"; });
  if (flag == words.end()) return 0;
  const std::string value = flag + 1 == words.end() ? "" : flag[1];
  int ranks = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), ranks);
  if (error != std::errc{} || end != value.data() + value.size() || ranks < 1) {
    throw UsageError(
        {.message = *flag + " needs a number of ranks", .found = "'" + value + "'", .expected = "1 or more"});
  }
  words.erase(flag, flag + 2);
  return ranks;
}

// "--backend mpi" or "--backend=mpi".
bool asks_for_mpi(const std::vector<std::string>& words) {
  const auto flag = std::find(words.begin(), words.end(), "--backend");
  if (flag != words.end() && flag + 1 != words.end() && flag[1] == "mpi") return true;
  return std::find(words.begin(), words.end(), "--backend=mpi") != words.end();
}

}  // namespace

int run_torch_verb(const std::string& name, std::vector<std::string> words) {
  const int ranks = take_ranks(words);
  if (ranks > 0) launch::require_no_rank("-n " + std::to_string(ranks));
  words.insert(words.begin(), {program_beside("lockstep-torch"), name});
  if (ranks > 0 && asks_for_mpi(words)) become(launch::mpi_command(ranks, words));
  if (ranks > 0) return launch::run({.ranks = ranks, .command = words});
  become(words);
}

}  // namespace lockstep::app
