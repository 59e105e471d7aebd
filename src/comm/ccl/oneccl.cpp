// What oneCCL's static library needs around it.
#include "oneccl.h"

#include <dlfcn.h>

#include <cstring>
#include <mutex>

#include <oneapi/ccl.hpp>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>

#include "environment.h"

// oneCCL's log. At its own level it announces on stdout each variable that we set, CCL_LOG_LEVEL too.
enum class ccl_log_level { nothing = -1, error = 0 };  // NOLINT
class ccl_logger {                                     // NOLINT
 public:
  static ccl_log_level level;
};

#define LOCKSTEP_FOR_ONECCL extern "C" __attribute__((used, visibility("hidden")))

// The two functions that it takes from the run-time library of Intel's compiler.
LOCKSTEP_FOR_ONECCL void* copy_fast(void* to, const void* from, std::size_t bytes) asm("_intel_fast_memcpy");
LOCKSTEP_FOR_ONECCL void* fill_fast(void* to, int value, std::size_t bytes) asm("_intel_fast_memset");
void* copy_fast(void* to, const void* from, std::size_t bytes) {
  return std::memcpy(to, from, bytes);
}
void* fill_fast(void* to, int value, std::size_t bytes) {
  return std::memset(to, value, bytes);
}

// The plugin is linked so that this takes the place of __cxa_atexit in it: its static objects live as long as the
// process. oneCCL's would wait for operations that were given up, and the process would never end.
LOCKSTEP_FOR_ONECCL int never_destroy(void (*)(void*), void*, void*) asm("__wrap___cxa_atexit");
int never_destroy(void (*)(void*), void*, void*) {
  return 0;
}

namespace lockstep::comm::ccl {
namespace {

void require_libfabric() {
  const std::string name = env::get("CCL_OFI_LIBRARY_PATH").value_or("libfabric.so.1");
  if (::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return;
  throw UsageError({.message = "the ccl backend needs libfabric",
                    .found = ::dlerror(),
                    .next = "install libfabric1, or name another one in CCL_OFI_LIBRARY_PATH"});
}

}  // namespace

void start_oneccl(bool one_node) {
  static std::mutex mutex;
  static bool started = false;
  const std::lock_guard lock(mutex);
  if (started) return;
  require_libfabric();
  const bool quiet = !env::get("CCL_LOG_LEVEL");
  prepare_environment(one_node);
  if (quiet) ccl_logger::level = ccl_log_level::error;
  ::ccl::init();
  // What it would log as an error it also throws.
  if (quiet) ccl_logger::level = ccl_log_level::nothing;
  started = true;
}

}  // namespace lockstep::comm::ccl
