// What `lockstep` becomes for `lockstep data`. Users type `lockstep`; this program is not for them.
#include <csignal>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/command_line.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>

#include "verbs.h"

namespace {

int body(int argc, char** argv) {
  // A limit on the size of files is to be an error in words, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  lockstep::log::configure({});
  CLI::App program("", "lockstep");
  program.require_subcommand(1);
  lockstep::app::Action action;
  CLI::App* data = program.add_subcommand("data", "Data sets: fetches, prepares, packs and verifies them");
  data->require_subcommand(1);
  lockstep::app::add_fetch(*data, action);
  lockstep::app::add_pack(*data, action);
  lockstep::app::add_verify(*data, action);
  lockstep::app::add_prepare(*data, action);
  if (const auto done = lockstep::parse_command_line(program, argc, argv)) return *done;
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
