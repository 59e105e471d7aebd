// What oneCCL's static library needs around it.
#include "oneccl.h"

#include <dlfcn.h>

#include <cstring>
#include <iostream>
#include <mutex>
#include <optional>

#include <oneapi/ccl.hpp>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>

#include "environment.h"

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

// Before oneCCL obeys CCL_LOG_LEVEL it announces on std::cout that somebody has set it. That is where programs write
// what other programs read.
class SilentCout {
 public:
  SilentCout() : before_(std::cout.rdbuf(nullptr)) {}
  SilentCout(const SilentCout&) = delete;
  SilentCout& operator=(const SilentCout&) = delete;
  ~SilentCout() { std::cout.rdbuf(before_); }

 private:
  std::streambuf* before_;
};

}  // namespace

void start_oneccl(bool one_node) {
  static std::mutex mutex;
  static bool started = false;
  const std::lock_guard lock(mutex);
  if (started) return;
  require_libfabric();
  const bool quiet = !env::get("CCL_LOG_LEVEL");
  prepare_environment(one_node);
  std::optional<SilentCout> silence;
  if (quiet) silence.emplace();
  ::ccl::init();
  started = true;
}

}  // namespace lockstep::comm::ccl
