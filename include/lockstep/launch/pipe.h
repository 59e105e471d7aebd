#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>

namespace lockstep::launch {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

// Both ends are close-on-exec.
inline Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot make a pipe", errno);
  return {.read_end = UniqueFd(ends[0]), .write_end = UniqueFd(ends[1])};
}

}  // namespace lockstep::launch
