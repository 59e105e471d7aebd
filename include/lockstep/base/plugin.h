// What needs a vendor's library is a plugin: a shared object that is loaded by name when it is asked for, so that one
// installation serves machines with and without that library.
#pragma once
#include <string>

namespace lockstep {

// Whether this installation has it; it may still not load here.
bool have_plugin(const std::string& plugin);

// A function that the plugin lib/lockstep/plugins/lockstep_NAME.so of this installation exports. The plugin stays
// loaded. Throws UsageError that says why it cannot be loaded, and what to do.
void* plugin_symbol(const std::string& plugin, const std::string& symbol);

}  // namespace lockstep
