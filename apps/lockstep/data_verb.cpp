// lockstep data: becomes lockstep-data, which lies beside it and has the libraries for archives and downloads.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "become.h"
#include "verbs.h"

namespace lockstep::app {

void add_data(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("data", "Data sets: fetch, prepare, pack, verify");
  verb->prefix_command();
  verb->set_help_flag();  // lockstep-data has the help
  verb->callback([verb, &action] {
    action = [verb]() -> int {
      std::vector<std::string> words = verb->remaining();
      words.insert(words.begin(), {program_beside("lockstep-data"), "data"});
      become(words);
    };
  });
}

}  // namespace lockstep::app
