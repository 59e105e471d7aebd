// Backends that need a vendor's library are plugins: shared objects that are loaded by name when they are asked for, so
// that one installation serves machines with and without that library.
#pragma once
#include <string>

#include "backend.h"

namespace lockstep::comm {

// What a plugin exports, as a C function named lockstep_make_backend.
using PluginFunction = void (*)(const BackendRequest& request, MadeBackend& made);

// Whether this installation has it; it may still not load here.
bool have_plugin(const std::string& plugin);

// A function that the plugin lib/lockstep/plugins/lockstep_NAME.so of this installation exports. The plugin stays
// loaded. Throws UsageError that says why it cannot be loaded, and what to do.
void* plugin_symbol(const std::string& plugin, const std::string& symbol);

// Makes a backend from the plugin of that name; throws as plugin_symbol does.
MadeBackend make_from_plugin(const std::string& plugin, const BackendRequest& request);

}  // namespace lockstep::comm
