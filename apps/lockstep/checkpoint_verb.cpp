// lockstep checkpoint: looks at checkpoints and files of weights, and brings them from one format to another.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "checkpoint.h"

namespace lockstep::app {

void add_checkpoint(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("checkpoint", "Checkpoints and weights: inspect, verify, export, import");
  verb->require_subcommand(1);
  add_checkpoint_inspect(*verb, action);
  add_checkpoint_verify(*verb, action);
  add_checkpoint_export(*verb, action);
  add_checkpoint_import(*verb, action);
}

}  // namespace lockstep::app
