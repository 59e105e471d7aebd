// The command `lockstep`. It links no libtorch, whose loading alone takes 0.3 s.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/command_line.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/version.h>

#include "verbs.h"

namespace {

int body(int argc, char** argv) {
  lockstep::log::configure({});
  CLI::App program("Trains neural networks in step on many processes.", "lockstep");
  program.set_version_flag("--version", "lockstep " + lockstep::version());
  program.require_subcommand(1);
  lockstep::app::Action action;
  std::vector<std::string> after_dashes;
  lockstep::app::add_info(program, action);
  lockstep::app::add_run(program, action, after_dashes);
  lockstep::app::add_agent(program, action);
  lockstep::app::add_submit(program, action, after_dashes);
  lockstep::app::add_schedule(program, action);
  lockstep::app::add_report(program, action);
  lockstep::app::add_checkpoint(program, action);
  lockstep::app::add_data(program, action);
  lockstep::app::add_train(program, action);
  lockstep::app::add_bench(program, action);
  if (const auto done = lockstep::parse_command_line(program, argc, argv, &after_dashes)) return *done;
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
