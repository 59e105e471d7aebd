#include "plugin.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

namespace lockstep::comm {

MadeBackend make_from_plugin(const std::string& plugin, const BackendRequest& request) {
  const auto path = files::installation_folder() / "lib/lockstep/plugins" / fmt::format("lockstep_{}.so", plugin);
  if (!std::filesystem::exists(path)) {
    throw UsageError({.message = fmt::format("this build has no {} plugin", plugin),
                      .found = path.string() + " is not there",
                      .next = "lockstep info tells how to get it"});
  }
  // Global, because libtorch finds what a plugin brings (its CUDA half) through the process's symbols.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (library == nullptr) {
    throw UsageError({.message = fmt::format("the {} plugin cannot be loaded", plugin),
                      .found = ::dlerror(),
                      .next = "lockstep info tells which libraries are missing"});
  }
  const auto make = reinterpret_cast<PluginFunction>(::dlsym(library, "lockstep_make_backend"));
  if (make == nullptr) throw RuntimeError(path.string() + " is no plugin of Lockstep");
  MadeBackend made;
  make(request, made);
  return made;
}

}  // namespace lockstep::comm
