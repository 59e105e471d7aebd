// Archives of ImageNet's form, as small as a test wants them.
#pragma once
#include <archive.h>
#include <archive_entry.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "made_pictures.h"
#include "temporary_folder.h"

namespace lockstep::test {

// Name and content.
using Files = std::vector<std::pair<std::string, std::string>>;

inline std::filesystem::path write_tar(const std::filesystem::path& path, const Files& files, bool gzip = false) {
  const std::unique_ptr<archive, int (*)(archive*)> writer(::archive_write_new(), &::archive_write_free);
  ::archive_write_set_format_ustar(writer.get());
  if (gzip) ::archive_write_add_filter_gzip(writer.get());
  if (::archive_write_open_filename(writer.get(), path.c_str()) != ARCHIVE_OK) throw std::runtime_error("no tar");
  for (const auto& [name, content] : files) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(::archive_entry_new(), &::archive_entry_free);
    ::archive_entry_set_pathname(entry.get(), name.c_str());
    ::archive_entry_set_perm(entry.get(), 0644);
    if (content.starts_with("-> ")) {
      ::archive_entry_set_filetype(entry.get(), AE_IFLNK);
      ::archive_entry_set_symlink(entry.get(), content.c_str() + 3);
    } else {
      ::archive_entry_set_filetype(entry.get(), AE_IFREG);
      ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
    }
    ::archive_write_header(writer.get(), entry.get());
    if (!content.starts_with("-> ")) ::archive_write_data(writer.get(), content.data(), content.size());
  }
  ::archive_write_close(writer.get());
  return path;
}

inline std::string tar_text(const Files& files) {
  const TemporaryFolder folder;
  return content(write_tar(folder.path() / "x.tar", files));
}

// In the order of the ids, which is not that of the names.
inline const std::vector<std::string> kWnids = {"n02119789", "n01440764", "n03000134"};

// Pictures of a class, as the train archive names them.
inline Files class_files(const std::string& wnid, int count) {
  Files files;
  for (int i = 0; i < count; ++i) {
    files.emplace_back(fmt::format("{}_{}.JPEG", wnid, i * 7 + 1),
                       jpeg_text(24, 16, static_cast<std::uint64_t>(i) + wnid.back()));
  }
  return files;
}

inline std::filesystem::path write_train(const std::filesystem::path& path, int pictures = 3) {
  Files classes;
  for (const std::string& wnid : kWnids) classes.emplace_back(wnid + ".tar", tar_text(class_files(wnid, pictures)));
  return write_tar(path, classes);
}

inline std::filesystem::path write_validation(const std::filesystem::path& path, int pictures) {
  Files files;
  // Not in order, as in an archive that someone made again.
  for (int i = pictures; i >= 1; --i) {
    files.emplace_back(fmt::format("ILSVRC2012_val_{:08}.JPEG", i), jpeg_text(20, 30, static_cast<std::uint64_t>(i)));
  }
  return write_tar(path, files);
}

}  // namespace lockstep::test
