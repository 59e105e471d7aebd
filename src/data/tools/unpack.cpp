#include "unpack.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>

#include <lockstep/data/tools/catalog.h>

namespace lockstep::data {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kMaxDepth = 16;

class Unpacker {
 public:
  Unpacker(const std::filesystem::path& archive, const std::filesystem::path& target, const UnpackLimits& limits)
      : name_(archive.string()), target_(target), limits_(limits) {
    ::archive_read_support_filter_gzip(archive_.get());
    ::archive_read_support_filter_bzip2(archive_.get());
    ::archive_read_support_filter_xz(archive_.get());
    ::archive_read_support_filter_zstd(archive_.get());
    ::archive_read_support_format_tar(archive_.get());
    ::archive_read_support_format_zip(archive_.get());
    if (::archive_read_open_filename(archive_.get(), archive.c_str(), kBlock) != ARCHIVE_OK) throw damaged();
  }

  void run(const std::string& top) {
    archive_entry* entry = nullptr;
    int found = 0;
    for (int code = 0; (code = ::archive_read_next_header(archive_.get(), &entry)) != ARCHIVE_EOF; ++found) {
      if (code != ARCHIVE_OK) throw damaged();
      if (found == limits_.files) throw refuse("has too many files", std::to_string(found));
      take(entry, top);
    }
    for (const auto& below : std::filesystem::recursive_directory_iterator(target_)) {
      if (below.is_directory()) files::sync_folder(below.path());
    }
    files::sync_folder(target_);
  }

 private:
  void take(archive_entry* entry, const std::string& top) {
    const char* name = ::archive_entry_pathname(entry);
    if (name == nullptr) throw refuse("has a file without a name", "");
    const auto type = ::archive_entry_filetype(entry);
    const bool is_folder = type == AE_IFDIR;
    if ((type != AE_IFREG && !is_folder) || ::archive_entry_hardlink(entry) != nullptr) {
      throw refuse("has more than files and folders: links and devices are not unpacked", name);
    }
    const std::filesystem::path path = path_of(name, top, is_folder);
    if (is_folder) {
      make_folder(path);
    } else {
      make_folder(path.parent_path());
      write_file(path);
    }
  }

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
      const la_ssize_t count = ::archive_read_data(archive_.get(), buffer_.data(), buffer_.size());
      if (count < 0) throw damaged();
      if (count == 0) break;
      const auto bytes = static_cast<std::size_t>(count);
      if (bytes > limits_.bytes - written_) {
        throw refuse("becomes too large", "", "at most " + format_bytes(limits_.bytes));
      }
      written_ += bytes;
      const int error = files::write_all(fd.get(), {buffer_.data(), bytes});
      if (error != 0) throw system_error(fmt::format("writing '{}'", path.string()), error);
    }
    if (::fsync(fd.get()) != 0) throw system_error(fmt::format("cannot sync '{}'", path.string()), errno);
  }

  RuntimeError damaged() const {
    const char* text = ::archive_error_string(archive_.get());
    return refuse("is damaged, or no archive", text != nullptr ? text : "");
  }

  RuntimeError refuse(const std::string& what, std::string found, std::string expected = "") const {
    return RuntimeError({.message = fmt::format("archive '{}' {}", name_, what),
                         .found = std::move(found),
                         .expected = std::move(expected)});
  }

  const std::string name_;
  const std::filesystem::path& target_;
  const UnpackLimits& limits_;
  const std::unique_ptr<archive, int (*)(archive*)> archive_{::archive_read_new(), &::archive_read_free};
  std::string buffer_ = std::string(kBlock, '\0');
  std::uint64_t written_ = 0;
};

}  // namespace

void unpack_folder(const std::filesystem::path& archive, const std::string& top, const std::filesystem::path& target,
                   const UnpackLimits& limits) {
  Unpacker(archive, target, limits).run(top);
}

}  // namespace lockstep::data
