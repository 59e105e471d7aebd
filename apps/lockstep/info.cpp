// lockstep info: this build, this machine, this launch environment.
#include <iostream>
#include <memory>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/machine_report.h>
#include <lockstep/base/post_mortem.h>

#include "verbs.h"

namespace lockstep::app {

void add_info(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("info", "Says what this build and this machine have, and what is missing");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "One JSON value on stdout");
  auto folder = std::make_shared<std::string>();
  verb->add_option("--post-mortem", *folder, "Read what the ranks of a failed job left in DIR, and say who went wrong")
      ->type_name("DIR");
  verb->callback([json, folder, &action] {
    action = [json, folder] {
      if (!folder->empty()) {
        const PostMortem post_mortem = read_post_mortem(*folder);
        std::cout << (*json ? to_json(post_mortem) : to_text(post_mortem));
        return 0;
      }
      const auto report = machine_report();
      std::cout << (*json ? report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
                          : machine_report_text(report));
      return 0;
    };
  });
}

}  // namespace lockstep::app
