// lockstep train, as a rank does it. `lockstep` has read the same arguments before, and has answered --print-config and
// the like.
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/train/arguments.h>

#include "verbs.h"

namespace lockstep::app {

void add_train(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("train", "Trains from a config");
  auto arguments = std::make_shared<train::Arguments>();
  train::add_arguments(*verb, *arguments);
  verb->callback([arguments, &action] { action = [arguments] { return train::run(train::compose_run(*arguments)); }; });
}

}  // namespace lockstep::app
