// What `lockstep` becomes for the verbs that need libtorch. Users type `lockstep`; this program is not for them.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/command_line.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/placement.h>

#include "verbs.h"

namespace {

int body(int argc, char** argv) {
  CLI::App program("", "lockstep");
  program.require_subcommand(1);
  lockstep::app::Action action;
  CLI::App* bench = program.add_subcommand("bench", "Measures");
  bench->require_subcommand(1);
  lockstep::app::add_bench_all_reduce(*bench, action);
  lockstep::app::add_bench_loader(*bench, action);
  lockstep::app::add_bench_step(*bench, action);
  lockstep::app::add_bench_turns(*bench, action);
  lockstep::app::add_train(program, action);
  if (const auto done = lockstep::parse_command_line(program, argc, argv)) return *done;
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors(lockstep::discover_placement().rank, body, argc, argv);
}
