#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include <lockstep/base/fd.h>

namespace lockstep::comm::local {

// Memory that processes of one host share, all zeros at first. It is a memfd: it has no name, and the kernel frees it
// with the last process that has it mapped, however that process ends. Only the pages that are used take memory.
class SharedMemory {
 public:
  static SharedMemory make(std::size_t bytes);

  // Maps what another process has made and described by its address(). Throws RuntimeError when that memory is not
  // there, is something else, or is not of that size.
  static SharedMemory open(const std::string& address, std::size_t bytes);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  std::byte* data() const;

  // Takes large pages for what has been written to, where the kernel can (Linux 6.1): for memory that is gone through
  // again and again. Whoever opens it later has them too.
  void use_large_pages() const;

  // Tells other processes where to find it: "pid:fd:size:cookie". It holds until close_door() or the process's end.
  std::string address() const;
  void close_door() { fd_.reset(); }

 private:
  SharedMemory(UniqueFd fd, std::size_t bytes);

  UniqueFd fd_;
  std::size_t mapped_bytes_;
  std::byte* base_;
};

}  // namespace lockstep::comm::local
