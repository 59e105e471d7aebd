#pragma once
#include <filesystem>
#include <memory>

#include <lockstep/data/picture.h>
#include <lockstep/data/split.h>
#include <lockstep/data/synthetic.h>

namespace lockstep::data {

// The set of pictures at `path`, whatever its form: a packed file (.lsp), the folder of CIFAR-10, CIFAR-100 or MNIST,
// of which `split` says what part, or a folder with a folder for each class. "synthetic:WIDTHxHEIGHT" makes pictures
// up, 50,000 unless ":COUNT" follows; the rest of what they are is that of `made_up`. Throws UsageError when it is none
// of them.
std::unique_ptr<PictureSet> open_pictures(const std::filesystem::path& path, Split split = Split::kTrain,
                                          const SyntheticOptions& made_up = {});

// Whether it is "synthetic:", with something behind it.
bool is_synthetic(const std::filesystem::path& path);

// Whether it has two parts, so that `split` makes a difference: the folders of CIFAR-10, CIFAR-100 and MNIST have.
bool has_splits(const std::filesystem::path& path);

}  // namespace lockstep::data
