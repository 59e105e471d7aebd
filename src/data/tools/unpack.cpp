#include "unpack.h"

#include <fcntl.h>

#include <cerrno>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>
#include <lockstep/data/tools/catalog.h>

#include "archive_reader.h"

namespace lockstep::data {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kMaxDepth = 16;

class Unpacker {
 public:
  Unpacker(const std::filesystem::path& path, const std::filesystem::path& target, const UnpackLimits& limits)
      : name_(path.string()), target_(target), limits_(limits), archive_(path) {}

  void run(const std::string& top) {
    for (int found = 0; const auto entry = archive_.next_entry(); ++found) {
      if (found == limits_.files) throw refuse("has too many files", std::to_string(found));
      const std::filesystem::path path = path_of(entry->path, top, entry->is_folder);
      make_folder(entry->is_folder ? path : path.parent_path());
      if (!entry->is_folder) write_file(path);
    }
    for (const auto& below : std::filesystem::recursive_directory_iterator(target_)) {
      if (below.is_directory()) files::sync_folder(below.path());
    }
    files::sync_folder(target_);
  }

 private:
  // Where an entry goes; throws for a name that is not wholly harmless.
  std::filesystem::path path_of(const std::string& name, const std::string& top, bool is_folder) const {
    std::vector<std::string> parts = split(name, '/');
    if (is_folder && parts.back().empty()) parts.pop_back();
    if (parts.size() > 1 && parts.front() == ".") parts.erase(parts.begin());
    const bool inside = !parts.empty() && parts.front() == top && (is_folder || parts.size() > 1);
    if (!inside || parts.size() > kMaxDepth) {
      throw refuse("has a file that does not belong into its folder", name, "names under " + top + "/");
    }
    std::filesystem::path path = target_;
    for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
      if (!is_plain_name(*part)) throw refuse("has a name that might lead elsewhere", name);
      path /= *part;
    }
    return path;
  }

  void make_folder(const std::filesystem::path& path) const {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) throw RuntimeError(fmt::format("cannot make folder '{}': {}", path.string(), error.message()));
  }

  void write_file(const std::filesystem::path& path) {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!fd && errno == EEXIST) throw refuse("has a name twice", path.filename().string());
    if (!fd) throw system_error(fmt::format("cannot write '{}'", path.string()), errno);
    for (;;) {
      const std::span<std::byte> piece = archive_.read_some(buffer_);
      if (piece.empty()) break;
      if (piece.size() > limits_.bytes - written_) {
        throw refuse("becomes too large", "", "at most " + format_bytes(limits_.bytes));
      }
      written_ += piece.size();
      const int error = files::write_all(fd.get(), {reinterpret_cast<const char*>(piece.data()), piece.size()});
      if (error != 0) throw system_error(fmt::format("writing '{}'", path.string()), error);
    }
    if (::fsync(fd.get()) != 0) throw system_error(fmt::format("cannot sync '{}'", path.string()), errno);
  }

  RuntimeError refuse(const std::string& what, std::string found, std::string expected = "") const {
    return RuntimeError({.message = fmt::format("archive '{}' {}", name_, what),
                         .found = std::move(found),
                         .expected = std::move(expected)});
  }

  const std::string name_;
  const std::filesystem::path& target_;
  const UnpackLimits& limits_;
  Archive archive_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kBlock);
  std::uint64_t written_ = 0;
};

}  // namespace

void unpack_folder(const std::filesystem::path& archive, const std::string& top, const std::filesystem::path& target,
                   const UnpackLimits& limits) {
  try {
    Unpacker(archive, target, limits).run(top);
  } catch (const UsageError& error) {
    // Nobody has chosen this archive.
    throw RuntimeError(error.parts());
  }
}

}  // namespace lockstep::data
