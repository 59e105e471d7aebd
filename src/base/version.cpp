#include <lockstep/base/version.h>

#include <lockstep_version.h>

namespace lockstep {

std::string version() {
  return LOCKSTEP_VERSION;
}

std::string revision() {
  return LOCKSTEP_REVISION;
}

std::string compiler() {
#ifdef __clang__
  return "clang++ " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__) + "." +
         std::to_string(__clang_patchlevel__);
#else
  return "g++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
         std::to_string(__GNUC_PATCHLEVEL__);
#endif
}

std::string torch_version_at_build() {
  return LOCKSTEP_TORCH_VERSION;
}

}  // namespace lockstep
