// lockstep info: this build, this machine, this launch environment.
#include <iostream>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/machine_report.h>

#include "verbs.h"

namespace lockstep::app {

void add_info(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("info", "Says what this build and this machine have, and what is missing");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "One JSON value on stdout");
  verb->callback([json, &action] {
    action = [json] {
      const auto report = machine_report();
      std::cout << (*json ? report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
                          : machine_report_text(report));
      return 0;
    };
  });
}

}  // namespace lockstep::app
