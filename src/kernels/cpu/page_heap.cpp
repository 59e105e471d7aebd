#include "page_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace lockstep::kernels {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kGrain = std::size_t{16} << 10;  // all blocks are multiples of it

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

PageHeap::PageHeap(std::size_t most_bytes) : reserved_bytes_(round_up(most_bytes, kHugePage) + kHugePage) {
  void* reserved =
      ::mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, 0);
  if (reserved == MAP_FAILED) return;
  reserved_ = static_cast<char*>(reserved);
  const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(reserved_) % kHugePage;
  begin_ = reserved_ + skipped;
  most_bytes_ = (reserved_bytes_ - skipped) / kHugePage * kHugePage;
  // One fault for 512 pages, and far fewer misses of the TLB. Where it is refused, pages are small.
  ::madvise(begin_, most_bytes_, MADV_HUGEPAGE);
}

PageHeap::~PageHeap() {
  if (reserved_ != nullptr) ::munmap(reserved_, reserved_bytes_);
}

bool PageHeap::owns(const void* block) const {
  return block >= begin_ && block < begin_ + most_bytes_;
}

void* PageHeap::allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > most_bytes_) return nullptr;
  bytes = round_up(bytes, kGrain);
  const std::lock_guard lock(mutex_);
  auto found = free_.lower_bound({bytes, 0});
  if (found == free_.end()) {
    if (!grow_for(bytes)) return nullptr;
    found = free_.lower_bound({bytes, 0});
  }
  const auto piece = pieces_.find(found->second);
  const std::size_t offset = piece->first;
  const Piece whole = piece->second;
  ++(whole.paged < bytes ? statistics_.misses : statistics_.hits);
  remove_free(piece);
  piece->second = {.bytes = bytes, .paged = bytes, .free = false};
  if (whole.bytes > bytes) {
    add_free(offset + bytes, {.bytes = whole.bytes - bytes, .paged = whole.paged - std::min(whole.paged, bytes)});
  }
  statistics_.in_use += static_cast<std::int64_t>(bytes);
  return begin_ + offset;
}

void PageHeap::free(void* block) {
  const std::lock_guard lock(mutex_);
  const auto piece = pieces_.find(static_cast<std::size_t>(static_cast<char*>(block) - begin_));
  statistics_.in_use -= static_cast<std::int64_t>(piece->second.bytes);
  Piece whole = piece->second;
  whole.free = true;
  std::size_t offset = piece->first;
  const auto join = [&](Pieces::iterator neighbour) {
    remove_free(neighbour);
    offset = std::min(offset, neighbour->first);
    whole.bytes += neighbour->second.bytes;
    whole.paged += neighbour->second.paged;
    pieces_.erase(neighbour);
  };
  if (const auto next = std::next(piece); next != pieces_.end() && next->second.free) join(next);
  if (piece != pieces_.begin() && std::prev(piece)->second.free) join(std::prev(piece));
  pieces_.erase(piece);
  add_free(offset, whole);
}

void PageHeap::release_unused() {
  const std::lock_guard lock(mutex_);
  for (const auto& [bytes, offset] : free_) {
    Piece& piece = pieces_.find(offset)->second;
    if (piece.paged == 0 || ::madvise(begin_ + offset, bytes, MADV_DONTNEED) != 0) continue;
    statistics_.kept -= static_cast<std::int64_t>(piece.paged);
    piece.paged = 0;
  }
}

CpuMemoryStatistics PageHeap::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

// After it, the last piece has as many bytes as are asked for, or more.
bool PageHeap::grow_for(std::size_t bytes) {
  const auto last = pieces_.empty() ? pieces_.end() : std::prev(pieces_.end());
  const bool extends = last != pieces_.end() && last->second.free;
  const std::size_t missing = round_up(extends ? bytes - last->second.bytes : bytes, kHugePage);
  if (missing > most_bytes_ - end_) return false;
  if (::mprotect(begin_ + end_, missing, PROT_READ | PROT_WRITE) != 0) return false;
  Piece piece{.bytes = missing};
  std::size_t offset = end_;
  if (extends) {
    remove_free(last);
    piece.bytes += last->second.bytes;
    piece.paged = last->second.paged;
    offset = last->first;
  }
  end_ += missing;
  add_free(offset, piece);
  return true;
}

void PageHeap::add_free(std::size_t offset, Piece piece) {
  pieces_.insert_or_assign(offset, piece);
  free_.emplace(piece.bytes, offset);
  statistics_.kept += static_cast<std::int64_t>(piece.paged);
}

void PageHeap::remove_free(Pieces::iterator piece) {
  free_.erase({piece->second.bytes, piece->first});
  statistics_.kept -= static_cast<std::int64_t>(piece->second.paged);
}

}  // namespace lockstep::kernels
