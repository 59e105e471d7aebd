#include <lockstep/launch/mpi_launcher.h>

#include <unistd.h>

#include <array>
#include <optional>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "program.h"

namespace lockstep::launch {
namespace {

struct Launcher {
  const char* mpi;
  std::array<const char*, 3> names;  // Debian's first: there both MPIs can be installed, and plain names are either's
};

constexpr std::array kLaunchers = {Launcher{"openmpi", {"mpirun.openmpi", "orterun", "mpirun"}},
                                   Launcher{"mpich", {"mpiexec.mpich", "mpiexec.hydra", "mpiexec"}}};

std::optional<std::string> find(const Launcher& launcher) {
  for (const char* name : launcher.names) {
    try {
      return find_program(name).string();
    } catch (const UsageError&) {
      // The next name, then.
    }
  }
  return std::nullopt;
}

std::vector<std::string> start_of_command() {
  if (const auto given = env::get("LOCKSTEP_MPIRUN")) {
    std::vector<std::string> words;
    for (const std::string& word : split(*given, ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    if (!words.empty()) words.front() = find_program(words.front()).string();
    if (!words.empty()) return words;
  }
  const std::string asked = env::get("LOCKSTEP_MPI").value_or("");
  for (const Launcher& launcher : kLaunchers) {
    if (!asked.empty() && asked != launcher.mpi) continue;
    const auto program = find(launcher);
    if (!program) continue;
    std::vector<std::string> words{*program};
    if (std::string(launcher.mpi) == "openmpi") {
      words.emplace_back("--oversubscribe");
      if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
    }
    return words;
  }
  throw UsageError({.message = "no launcher of an MPI was found",
                    .found = asked.empty() ? "" : "LOCKSTEP_MPI=" + asked,
                    .expected = "mpirun of Open MPI or mpiexec of MPICH in PATH",
                    .next = "install openmpi-bin or mpich, or name the launcher in LOCKSTEP_MPIRUN"});
}

}  // namespace

std::vector<std::string> mpi_command(int ranks, const std::vector<std::string>& command) {
  std::vector<std::string> words = start_of_command();
  words.insert(words.end(), {"-n", std::to_string(ranks)});
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

}  // namespace lockstep::launch
