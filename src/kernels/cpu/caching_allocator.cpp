#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mutex>
#include <new>

#include <c10/core/Allocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include "page_heap.h"

namespace lockstep::kernels {
namespace {

constexpr std::size_t kLeastBytes = std::size_t{64} << 10;  // below, malloc keeps its memory by itself

// Addresses cost nothing; those that are left over by blocks of changing sizes must not be the end of it.
std::size_t bytes_to_reserve() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return 0;
  constexpr std::size_t kTimesMemory = 4;
  return kTimesMemory * static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

PageHeap& heap();

void give_back(void* data) {
  if (heap().owns(data)) {
    heap().free(data);
  } else {
    c10::free_cpu(data);
  }
}

void* take(std::size_t bytes) {
  if (bytes >= kLeastBytes) {
    if (void* data = heap().allocate(bytes)) return data;
  }
  try {
    return c10::alloc_cpu(bytes);
  } catch (const c10::Error&) {
    heap().release_unused();
    return c10::alloc_cpu(bytes);
  }
}

class CachingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* data = take(bytes);
    return {data, data, &give_back, c10::Device(c10::kCPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &give_back; }

  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }
};

// Never destroyed: tensors of other static objects may outlive them.
struct Kept {
  PageHeap heap = PageHeap(bytes_to_reserve());
  CachingAllocator allocator;
};

Kept& kept() {
  alignas(Kept) static std::byte memory[sizeof(Kept)];
  static Kept* const kept = ::new (memory) Kept;
  return *kept;
}

PageHeap& heap() {
  return kept().heap;
}

void install() {
  if (bytes_to_reserve() == 0) return;
  ::pthread_atfork([] { heap().lock(); }, [] { heap().unlock(); }, [] { heap().unlock(); });
  constexpr std::uint8_t kAboveDefault = 1;
  c10::SetAllocator(c10::kCPU, &kept().allocator, kAboveDefault);
}

}  // namespace

void keep_cpu_memory() {
  static std::once_flag once;
  std::call_once(once, install);
}

void release_cached_memory() {
  heap().release_unused();
}

CpuMemoryStatistics cpu_memory_statistics() {
  return heap().statistics();
}

}  // namespace lockstep::kernels
