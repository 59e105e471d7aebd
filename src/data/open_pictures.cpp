#include <lockstep/data/open_pictures.h>

#include <fmt/format.h>

#include <lockstep/data/image_folder.h>
#include <lockstep/data/packed.h>

namespace lockstep::data {

std::unique_ptr<PictureSet> open_pictures(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw UsageError({.message = fmt::format("there is no data set '{}'", path.string()),
                      .found = error ? error.message() : "",
                      .next = "check the path"});
  }
  if (std::filesystem::is_directory(status)) return std::make_unique<ImageFolder>(path);
  if (path.extension() == ".lsp") return std::make_unique<PackedSet>(path);
  throw UsageError({.message = fmt::format("'{}' is no data set of pictures", path.string()),
                    .expected = "a folder with a folder for each class, or a packed file, NAME.lsp"});
}

}  // namespace lockstep::data
