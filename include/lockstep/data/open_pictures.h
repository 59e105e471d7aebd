#pragma once
#include <filesystem>
#include <memory>

#include <lockstep/data/picture.h>

namespace lockstep::data {

// The set of pictures at `path`, whatever its form: a packed file (.lsp), or a folder with a folder for each class.
// Throws UsageError when it is none of them.
std::unique_ptr<PictureSet> open_pictures(const std::filesystem::path& path);

}  // namespace lockstep::data
