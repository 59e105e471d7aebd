#include "failing_calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdarg>

namespace lockstep::test {
namespace {

struct Plan {
  bool active = false;
  int which = 0, error = 0;
  Failing how = Failing::kOnce;
  std::vector<std::string> names;
};

Plan& plan() {
  static Plan plan;
  return plan;
}

// Whether this call is to fail; then errno is set.
bool fails(const char* name) {
  if (!plan().active) return false;
  const int number = static_cast<int>(plan().names.size());
  plan().names.emplace_back(name);
  const bool failing = plan().how == Failing::kOnce ? number == plan().which : number >= plan().which;
  if (failing) errno = plan().error;
  return failing;
}

}  // namespace

FailingCalls::FailingCalls(int which, int error, Failing how) {
  plan() = {.active = true, .which = which, .error = error, .how = how, .names = {}};
}

FailingCalls::~FailingCalls() {
  plan().active = false;
}

int FailingCalls::count() const {
  return static_cast<int>(plan().names.size());
}

const std::vector<std::string>& FailingCalls::names() const {
  return plan().names;
}

}  // namespace lockstep::test

using lockstep::test::fails;

// The linker asks for these names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

int __real_open(const char* path, int flags, ...);
ssize_t __real_write(int fd, const void* bytes, size_t size);
int __real_close(int fd);
int __real_mkdir(const char* path, mode_t mode);
int __real_rename(const char* from, const char* to);
int __real_renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags);
int __real_unlink(const char* path);
int __real_rmdir(const char* path);
int __real_flock(int fd, int operation);
int __real_stat(const char* path, struct stat* info);
DIR* __real_opendir(const char* path);

int __wrap_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fails("open") ? -1 : __real_open(path, flags, mode);
}

ssize_t __wrap_write(int fd, const void* bytes, size_t size) {
  if (!fails("write")) return __real_write(fd, bytes, size);
  const int error = errno;
  const ssize_t count = __real_write(fd, bytes, size / 2);
  errno = error;
  return error == 0 ? count : -1;
}

int __wrap_fsync(int /*fd*/) {
  return fails("fsync") ? -1 : 0;
}

int __wrap_close(int fd) {
  const bool failing = fails("close");
  const int error = errno, result = __real_close(fd);  // a close that fails has closed it
  if (failing) errno = error;
  return failing ? -1 : result;
}

int __wrap_mkdir(const char* path, mode_t mode) {
  return fails("mkdir") ? -1 : __real_mkdir(path, mode);
}

int __wrap_rename(const char* from, const char* to) {
  return fails("rename") ? -1 : __real_rename(from, to);
}

int __wrap_renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return fails("renameat2") ? -1 : __real_renameat2(from_folder, from, to_folder, to, flags);
}

int __wrap_unlink(const char* path) {
  return fails("unlink") ? -1 : __real_unlink(path);
}

int __wrap_rmdir(const char* path) {
  return fails("rmdir") ? -1 : __real_rmdir(path);
}

int __wrap_flock(int fd, int operation) {
  return fails("flock") ? -1 : __real_flock(fd, operation);
}

int __wrap_stat(const char* path, struct stat* info) {
  return fails("stat") ? -1 : __real_stat(path, info);
}

DIR* __wrap_opendir(const char* path) {
  return fails("opendir") ? nullptr : __real_opendir(path);
}
}
// NOLINTEND(bugprone-reserved-identifier)
