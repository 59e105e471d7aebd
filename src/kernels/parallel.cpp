#include "parallel.h"

#include <exception>
#include <mutex>

#include <ATen/Parallel.h>

// Of GNU's OpenMP runtime: runs a function on so many threads, the caller among them, and waits for all.
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags);  // NOLINT
int omp_get_thread_num();                                                                   // NOLINT
}

namespace lockstep::kernels {
namespace {

struct Region {
  std::int64_t begin, end, part;
  c10::function_ref<void(std::int64_t, std::int64_t)> body;
  std::mutex mutex;
  std::exception_ptr error;

  void run_part() {
    const std::int64_t first = begin + omp_get_thread_num() * part;
    if (first >= end) return;
    try {
      body(first, std::min(end, first + part));
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  }
};

}  // namespace

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  c10::function_ref<void(std::int64_t, std::int64_t)> body) {
  if (begin >= end) return;
  const std::int64_t parts = std::max<std::int64_t>(1, (end - begin) / std::max<std::int64_t>(grain, 1));
  const std::int64_t shares = at::in_parallel_region() ? 1 : std::min<std::int64_t>(at::get_num_threads(), parts);
  if (shares == 1) return body(begin, end);
  Region region{.begin = begin,
                .end = end,
                .part = (end - begin + shares - 1) / shares,
                .body = body,
                .mutex = {},
                .error = nullptr};
  // Always all of them, as libtorch has it: where a region wants fewer than the one before, the runtime ends threads
  // that the next one has to start again.
  GOMP_parallel([](void* data) { static_cast<Region*>(data)->run_part(); }, &region,
                static_cast<unsigned>(at::get_num_threads()), 0);
  if (region.error) std::rethrow_exception(region.error);
}

}  // namespace lockstep::kernels
