#include "shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include <lockstep/base/errors.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif

namespace lockstep::comm::local {
namespace {

// Nobody can shrink the memory under another process's feet.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// The first page is ours. A random number in it proves that what was opened is what was meant.
constexpr std::size_t kPageBytes = 4096;
using Cookie = std::array<std::uint64_t, 2>;

struct Address {
  int pid = 0;
  int fd = 0;
  std::size_t bytes = 0;
  Cookie cookie{};
};

RuntimeError unreachable(const std::string& address, const std::string& reason) {
  return RuntimeError("cannot reach the shared memory at " + address + ": " + reason);
}

Address parse(const std::string& text) {
  Address address;
  if (std::sscanf(text.c_str(), "%d:%d:%zu:%16" SCNx64 "%16" SCNx64, &address.pid, &address.fd, &address.bytes,
                  &address.cookie[0], &address.cookie[1]) != 5) {
    throw unreachable(text, "this is no address");
  }
  return address;
}

// The process of that number may be a stranger here, and its file anything.
bool is_sealed_memory(int fd, std::size_t bytes) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return status.st_uid == ::geteuid() && static_cast<std::size_t>(status.st_size) == bytes && seals >= 0 &&
         (seals & kSeals) == kSeals;
}

Cookie read_cookie(const std::byte* page) {
  Cookie cookie;
  std::memcpy(&cookie, page, sizeof(cookie));
  return cookie;
}

// Where large pages can be mapped, if there is room for one.
void* map(int fd, std::size_t bytes) {
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  if (bytes < kLargePage) return ::mmap(nullptr, bytes, kAccess, MAP_SHARED, fd, 0);
  void* const room = ::mmap(nullptr, bytes + kLargePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return room;
  auto* const begin = static_cast<std::byte*>(room);
  const std::size_t before = (kLargePage - reinterpret_cast<std::uintptr_t>(room) % kLargePage) % kLargePage;
  void* const mapped = ::mmap(begin + before, bytes, kAccess, MAP_SHARED | MAP_FIXED, fd, 0);
  if (mapped == MAP_FAILED) {
    ::munmap(room, bytes + kLargePage);
    return mapped;
  }
  if (before > 0) ::munmap(begin, before);
  const std::size_t end = before + (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (end < bytes + kLargePage) ::munmap(begin + end, bytes + kLargePage - end);
  return mapped;
}

}  // namespace

SharedMemory SharedMemory::make(std::size_t bytes) {
  const std::size_t total = kPageBytes + bytes;
  int fd = ::memfd_create("lockstep", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create("lockstep", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  UniqueFd file(fd);
  if (!file || ::ftruncate(fd, static_cast<off_t>(total)) != 0 || ::fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    throw system_error("cannot make " + std::to_string(total) + " bytes of shared memory", errno);
  }
  SharedMemory memory(std::move(file), total);
  if (::getrandom(memory.base_, sizeof(Cookie), 0) != ssize_t{sizeof(Cookie)}) {
    throw system_error("cannot get random bytes", errno);
  }
  return memory;
}

SharedMemory SharedMemory::open(const std::string& text, std::size_t bytes) {
  const std::size_t total = kPageBytes + bytes;
  const Address address = parse(text);
  if (address.bytes != total) throw unreachable(text, "its size should be " + std::to_string(total));
  const std::string path = "/proc/" + std::to_string(address.pid) + "/fd/" + std::to_string(address.fd);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) throw unreachable(text, std::strerror(errno));
  if (!is_sealed_memory(file.get(), total)) throw unreachable(text, "another file is there");
  SharedMemory memory(std::move(file), total);
  if (read_cookie(memory.base_) != address.cookie) throw unreachable(text, "another job's memory is there");
  memory.close_door();
  return memory;
}

SharedMemory::SharedMemory(UniqueFd fd, std::size_t bytes) : fd_(std::move(fd)), mapped_bytes_(bytes) {
  void* base = map(fd_.get(), bytes);
  if (base == MAP_FAILED) throw system_error("cannot map " + std::to_string(bytes) + " bytes of memory", errno);
  base_ = static_cast<std::byte*>(base);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), mapped_bytes_(other.mapped_bytes_), base_(std::exchange(other.base_, nullptr)) {}

SharedMemory::~SharedMemory() {
  if (base_ != nullptr) ::munmap(base_, mapped_bytes_);
}

std::byte* SharedMemory::data() const {
  return base_ + kPageBytes;
}

void SharedMemory::use_large_pages() const {
#ifndef MADV_COLLAPSE
  constexpr int MADV_COLLAPSE = 25;
#endif
  ::madvise(base_, mapped_bytes_, MADV_COLLAPSE);  // a hint
}

std::string SharedMemory::address() const {
  const Cookie cookie = read_cookie(base_);
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%d:%d:%zu:%016" PRIx64 "%016" PRIx64, ::getpid(), fd_.get(), mapped_bytes_,
                cookie[0], cookie[1]);
  return text.data();
}

}  // namespace lockstep::comm::local
