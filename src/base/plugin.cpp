#include <lockstep/base/plugin.h>

#include <dlfcn.h>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

namespace lockstep {
namespace {

std::filesystem::path path_of(const std::string& plugin) {
  return files::installation_folder() / "lib/lockstep/plugins" / fmt::format("lockstep_{}.so", plugin);
}

}  // namespace

bool have_plugin(const std::string& plugin) {
  return std::filesystem::exists(path_of(plugin));
}

void* plugin_symbol(const std::string& plugin, const std::string& symbol) {
  const auto path = path_of(plugin);
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
  void* found = ::dlsym(library, symbol.c_str());
  if (found == nullptr) throw RuntimeError(path.string() + " is no plugin of this Lockstep");
  return found;
}

}  // namespace lockstep
