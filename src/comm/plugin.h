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

// Makes a backend from the plugin lib/lockstep/plugins/lockstep_NAME.so of this installation. The plugin stays loaded.
// Throws UsageError that says why it cannot be loaded, and what to do.
MadeBackend make_from_plugin(const std::string& plugin, const BackendRequest& request);

}  // namespace lockstep::comm
