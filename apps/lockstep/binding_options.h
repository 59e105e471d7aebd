#pragma once
#include <lockstep/launch/binding.h>

namespace CLI {
class App;
}

namespace lockstep::app {

// --bind, --threads, --threads-per-core and --cores-for-comm. `options` must outlive the parsing.
void add_binding_options(CLI::App& verb, launch::BindingOptions& options);

// Prints where `local_ranks` ranks would run on this machine, and returns the exit code.
int show_binding(int local_ranks, const launch::BindingOptions& options);

}  // namespace lockstep::app
