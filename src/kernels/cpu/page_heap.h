#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <lockstep/kernels/cpu_memory.h>

namespace lockstep::kernels {

// Large blocks out of one range of addresses, which grows at its end as far as it is needed. A block is cut from the
// smallest free piece that it fits into; free neighbours become one piece. So a program that asks for the same blocks
// in every step has the same pages again, and one whose blocks change in size does not collect pieces that nobody can
// use. Any thread may give back what another one took.
class PageHeap {
 public:
  // Reserves addresses for so many bytes, but no memory. Where the system refuses, no block fits.
  explicit PageHeap(std::size_t most_bytes);
  ~PageHeap();
  PageHeap(const PageHeap&) = delete;
  PageHeap& operator=(const PageHeap&) = delete;

  // Aligned to a page. Nothing when it does not fit, or the system has no memory.
  void* allocate(std::size_t bytes);
  bool owns(const void* block) const;
  void free(void* block);

  // The pages of all that is free go back to the kernel.
  void release_unused();

  CpuMemoryStatistics statistics() const;

  // Held across a fork, so that the child finds the heap whole.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Piece {
    std::size_t bytes = 0;
    std::size_t paged = 0;  // of these bytes, so many have had pages since they were last given back
    bool free = true;
  };
  using Pieces = std::map<std::size_t, Piece>;  // by offset; without gaps, and no two free ones side by side

  bool grow_for(std::size_t bytes);
  void add_free(std::size_t offset, Piece piece);
  void remove_free(Pieces::iterator piece);

  std::size_t reserved_bytes_;
  char* reserved_ = nullptr;
  char* begin_ = nullptr;  // of the first huge page in it
  std::size_t most_bytes_ = 0;

  mutable std::mutex mutex_;
  std::size_t end_ = 0;  // what is below can be written
  Pieces pieces_;
  std::set<std::pair<std::size_t, std::size_t>> free_;  // bytes, offset
  CpuMemoryStatistics statistics_;
};

}  // namespace lockstep::kernels
