// lockstep run: starts ranks.
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/launch/run.h>

#include "binding_options.h"
#include "verbs.h"

namespace lockstep::app {

void add_run(CLI::App& program, Action& action, const std::vector<std::string>& after_dashes) {
  CLI::App* verb = program.add_subcommand("run", "Starts a program as N ranks on this machine");
  auto options = std::make_shared<launch::RunOptions>();
  verb->add_option("-n,--ranks", options->ranks, "Number of ranks")->required();
  verb->add_flag("--all-ranks", options->all_ranks, "Print every rank's log, not rank 0's alone");
  verb->add_option_function<std::string>(
          "--store",
          [options](const std::string& name) {
            if (name != "own" && name != "tcp")
              throw CLI::ValidationError("--store", "'" + name + "' is neither own nor tcp");
            options->store = name == "tcp" ? launch::Store::kTcp : launch::Store::kOwn;
          },
          "Where ranks meet: own (authenticated, the default) or tcp (PyTorch's TCPStore, for jobs with Python ranks)")
      ->type_name("KIND");
  verb->add_option("--rendezvous-port", options->rendezvous_port, "Where the launcher listens; 0: the kernel chooses")
      ->check(CLI::Range(0, 65535));
  add_binding_options(*verb, options->binding);
  auto show = std::make_shared<bool>(false);
  verb->add_flag("--show-binding", *show, "Print where ranks would run, and start nothing");
  verb->prefix_command();  // the first word that is no flag begins the program, with or without "--" before it
  verb->footer("lockstep run -n N [--] PROGRAM [ARGUMENTS...]");
  verb->callback([verb, options, show, &action, &after_dashes] {
    const std::vector<std::string> words = verb->remaining();
    if (!words.empty() && words.front().starts_with("-")) throw CLI::ExtrasError(verb->get_name(), words);
    options->command = words;
    options->command.insert(options->command.end(), after_dashes.begin(), after_dashes.end());
    action = [options, show] { return *show ? show_binding(options->ranks, options->binding) : launch::run(*options); };
  });
}

}  // namespace lockstep::app
