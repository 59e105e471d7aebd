#include "binding_options.h"

#include <iostream>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>

namespace lockstep::app {

void add_binding_options(CLI::App& verb, launch::BindingOptions& options) {
  verb.add_option_function<std::string>(
          "--bind", [&options](const std::string& word) { options.bind = launch::parse_bind(word); },
          "Where ranks run: core, numa, socket, none, masks=0xff0,0xff00000, or auto (the default: core when the ranks "
          "take the whole machine)")
      ->type_name("KIND")
      ->group("Binding");
  verb.add_option("--threads", options.threads, "Threads of each rank; default: one for each of its cores")
      ->check(CLI::Range(1, 65536))
      ->group("Binding");
  verb.add_option("--threads-per-core", options.threads_per_core, "Hardware threads that are used of each core")
      ->check(CLI::IsMember({1, 2, 4}))
      ->group("Binding");
  verb.add_option("--cores-for-comm", options.cores_for_comm, "Cores of each rank that only communicate")
      ->check(CLI::Range(0, 65536))
      ->group("Binding");
}

int show_binding(int local_ranks, const launch::BindingOptions& options) {
  const launch::NodeBinding binding = launch::plan_binding(launch::read_machine(), local_ranks, options);
  for (const std::string& warning : binding.warnings) log::warning("{}", warning);
  std::cout << launch::binding_table(binding).to_text();
  return kExitSuccess;
}

}  // namespace lockstep::app
