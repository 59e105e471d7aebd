#include <lockstep/data/image_folder.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include <lockstep/base/fd.h>
#include <lockstep/base/text.h>

#include "check_index.h"
#include "folder_listing.h"

namespace lockstep::data {
namespace {

bool lies_below(const std::filesystem::path& path, const std::filesystem::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

// What says nothing about the file: it may be good, and must not be left out for it.
bool is_of_the_system(int error_number) {
  constexpr std::array kNumbers = {EMFILE, ENFILE, ENOMEM, EIO, ESTALE};
  return std::find(kNumbers.begin(), kNumbers.end(), error_number) != kNumbers.end();
}

[[noreturn]] void throw_unreadable(const std::filesystem::path& path, int error_number) {
  if (is_of_the_system(error_number)) throw system_error(fmt::format("cannot read '{}'", path.string()), error_number);
  throw SampleError({.message = fmt::format("cannot read '{}': {}", path.string(), std::strerror(error_number)),
                     .next = error_number == ENOENT ? "bring the file back, or make the list again without it"
                                                    : "check its permissions"});
}

UsageError leaves_root(const std::filesystem::path& link, const std::filesystem::path& target) {
  return UsageError({.message = fmt::format("the link '{}' leaves the data set's folder", link.string()),
                     .found = fmt::format("it leads to '{}'", target.string()),
                     .next = "copy what it leads to, or allow such links if you trust them"});
}

// Links resolved; throws when that is outside.
std::filesystem::path resolve(const std::filesystem::path& link, const std::filesystem::path& real_root,
                              bool may_leave) {
  std::error_code error;
  auto target = std::filesystem::canonical(link, error);
  if (error) throw_unreadable(link, error.value());
  if (!may_leave && !lies_below(target, real_root)) throw leaves_root(link, target);
  return target;
}

// A pipe that someone put there must not be waited for.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;

std::size_t read_all(int fd, std::span<std::byte> target, const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < target.size()) {
    const ssize_t count = ::read(fd, target.data() + done, target.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_unreadable(path, errno);
    if (count == 0) break;  // it became shorter; the decoder says what is missing
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace

ImageFolder::ImageFolder(std::filesystem::path root, const ImageFolderOptions& options)
    : root_(std::move(root)), options_(options) {
  std::error_code error;
  real_root_ = std::filesystem::canonical(root_, error);
  if (error) {
    throw UsageError({.message = fmt::format("cannot read the folder '{}': {}", root_.string(), error.message()),
                      .next = "check the path"});
  }
  listing_ = std::make_unique<const FolderListing>(
      root_, [this](const std::filesystem::path& link) { resolve(link, real_root_, options_.links_may_leave); });
}

ImageFolder::~ImageFolder() = default;

std::int64_t ImageFolder::size() const {
  return listing_->size();
}

Picture ImageFolder::get(std::int64_t index) const {
  check_index(index, size());
  std::filesystem::path path = root_ / listing_->path(index);
  UniqueFd fd(::open(path.c_str(), kOpenFlags));
  if (!fd && errno == ELOOP) {
    try {
      path = resolve(path, real_root_, options_.links_may_leave);
    } catch (const SampleError&) {
      throw;
    } catch (const UsageError& refusal) {
      throw SampleError(refusal.parts());
    }
    fd = UniqueFd(::open(path.c_str(), kOpenFlags));
  }
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) throw_unreadable(path, errno);
  if (!S_ISREG(info.st_mode)) throw SampleError({.message = fmt::format("'{}' is no regular file", path.string())});
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size == 0) throw SampleError({.message = fmt::format("'{}' is empty", path.string())});
  if (size > options_.largest_file) {
    throw SampleError({.message = fmt::format("'{}' is too large for a picture", path.string()),
                       .found = format_bytes(size),
                       .expected = "at most " + format_bytes(options_.largest_file)});
  }
  const auto buffer = std::make_shared_for_overwrite<std::byte[]>(size);
  const std::size_t count = read_all(fd.get(), {buffer.get(), size}, path);
  return {.bytes = {buffer.get(), count}, .owner = buffer, .label = listing_->label(index)};
}

std::string ImageFolder::name(std::int64_t index) const {
  check_index(index, size());
  return escape_controls(listing_->path(index));
}

const std::vector<std::string>& ImageFolder::classes() const {
  return listing_->classes();
}

}  // namespace lockstep::data
