// lockstep run: starts ranks.
#include <map>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/launch/run.h>

#include "verbs.h"

namespace lockstep::app {

void add_run(CLI::App& program, Action& action, const std::vector<std::string>& after_dashes) {
  CLI::App* verb = program.add_subcommand("run", "Starts a program as N ranks on this machine");
  auto options = std::make_shared<launch::RunOptions>();
  verb->add_option("-n,--ranks", options->ranks, "Number of ranks")->required();
  verb->add_flag("--all-ranks", options->all_ranks, "Print every rank's log, not rank 0's alone");
  const std::map<std::string, launch::Store> stores = {{"own", launch::Store::kOwn}, {"tcp", launch::Store::kTcp}};
  verb->add_option("--store", options->store, "Where ranks meet: own (authenticated) or tcp (PyTorch's TCPStore)")
      ->transform(CLI::CheckedTransformer(stores));
  verb->prefix_command();  // the first word that is no flag begins the program, with or without "--" before it
  verb->footer("lockstep run -n N [--] PROGRAM [ARGUMENTS...]");
  verb->callback([verb, options, &action, &after_dashes] {
    const std::vector<std::string> words = verb->remaining();
    if (!words.empty() && words.front().starts_with("-")) throw CLI::ExtrasError(verb->get_name(), words);
    options->command = words;
    options->command.insert(options->command.end(), after_dashes.begin(), after_dashes.end());
    action = [options] { return launch::run(*options); };
  });
}

}  // namespace lockstep::app
