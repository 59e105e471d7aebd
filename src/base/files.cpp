#include <lockstep/base/files.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <openssl/evp.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/text.h>

namespace lockstep::files {
namespace {

std::string in_quotes(const std::filesystem::path& path) {
  return "'" + path.string() + "'";
}

UniqueFd open_regular_file(const std::filesystem::path& path, struct stat& info) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    throw UsageError({.message = fmt::format("cannot read {}: {}", in_quotes(path), std::strerror(errno)),
                      .next = "check the path and its permissions"});
  }
  if (::fstat(fd.get(), &info) != 0) throw system_error("cannot examine " + in_quotes(path), errno);
  if (!S_ISREG(info.st_mode)) throw UsageError(in_quotes(path) + " is not a regular file");
  return fd;
}

// Reads until `buffer` is full or the file ends; returns the number of bytes.
std::size_t read_fully(int fd, char* buffer, std::size_t size, const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(fd, buffer + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error("reading " + in_quotes(path), errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

// A file that exists under a temporary name until it is renamed.
class TemporaryFile {
 public:
  TemporaryFile(const std::filesystem::path& target, mode_t mode)
      : target_(target), name_(target.string() + ".XXXXXX") {
    fd_ = UniqueFd(::mkostemp(name_.data(), O_CLOEXEC));
    if (!fd_) throw cannot_write(errno);
    exists_ = true;
    if (::fchmod(fd_.get(), mode) != 0) throw system_error("cannot set permissions of " + in_quotes(name_), errno);
  }
  ~TemporaryFile() {
    if (exists_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view content) {
    if (const int error = write_all(fd_.get(), content)) throw cannot_write(error);
  }

  void become_target() {
    if (::fsync(fd_.get()) != 0) throw cannot_write(errno);
    if (::rename(name_.c_str(), target_.c_str()) != 0) {
      throw system_error("cannot rename to " + in_quotes(target_), errno);
    }
    exists_ = false;
  }

 private:
  RuntimeError cannot_write(int error) const {
    return RuntimeError({.message = fmt::format("cannot write {}: {}", in_quotes(target_), std::strerror(error)),
                         .next = "check that the folder exists, is writable and has room"});
  }

  std::filesystem::path target_;
  std::string name_;
  UniqueFd fd_;
  bool exists_ = false;
};

class Digest {
 public:
  explicit Digest(const EVP_MD* algorithm) : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), algorithm, nullptr) == 1);
  }
  void add(std::string_view content) { check(EVP_DigestUpdate(context_.get(), content.data(), content.size()) == 1); }
  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    check(EVP_DigestFinal_ex(context_.get(), digest.data(), &length) == 1);
    std::string text;
    for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  static void check(bool done) {
    if (!done) throw RuntimeError("a digest of OpenSSL failed");
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::string digest_of_file(const std::filesystem::path& path, const EVP_MD* algorithm) {
  struct stat info {};
  const UniqueFd fd = open_regular_file(path, info);
  Digest digest(algorithm);
  std::string piece(1 << 20, '\0');
  while (const std::size_t count = read_fully(fd.get(), piece.data(), piece.size(), path)) {
    digest.add({piece.data(), count});
  }
  return digest.finish();
}

}  // namespace

std::string read(const std::filesystem::path& path, std::uint64_t limit) {
  struct stat info {};
  const UniqueFd fd = open_regular_file(path, info);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size > limit) {
    throw UsageError({.message = in_quotes(path) + " is larger than it may be",
                      .found = format_bytes(size),
                      .expected = "at most " + format_bytes(limit)});
  }
  std::string content(size, '\0');
  content.resize(read_fully(fd.get(), content.data(), content.size(), path));
  return content;
}

void write_atomically(const std::filesystem::path& path, std::string_view content, mode_t mode) {
  TemporaryFile file(path, mode);
  file.write(content);
  file.become_target();
  sync_folder(path.has_parent_path() ? path.parent_path() : ".");
}

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

void sync_folder(const std::filesystem::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) throw system_error("cannot sync folder " + in_quotes(folder), errno);
}

std::string sha256(std::string_view content) {
  Digest digest(EVP_sha256());
  digest.add(content);
  return digest.finish();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  return digest_of_file(path, EVP_sha256());
}

std::string md5_of_file(const std::filesystem::path& path) {
  return digest_of_file(path, EVP_md5());
}

std::filesystem::path program_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw RuntimeError("cannot read /proc/self/exe: " + error.message());
  return program.parent_path();
}

std::filesystem::path installation_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&installation_folder), &info) == 0) {
    throw RuntimeError("cannot find out where this program was loaded from");
  }
  // For the program itself the name is what it was started by, which may be relative to another folder.
  std::error_code error;
  const auto file = std::filesystem::canonical(info.dli_fname, error);
  return (error ? program_folder() : file.parent_path()).parent_path();
}

}  // namespace lockstep::files
