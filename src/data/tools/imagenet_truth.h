// Which class each picture of ImageNet's validation set is of.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

// "n01440764"
bool is_wnid(std::string_view text);

// The wnids of pictures 1, 2, ... in this order. `truth` is one of
// - the development kit, ILSVRC2012_devkit_t12.tar.gz,
// - LOC_val_solution.csv of Kaggle,
// - a text file with one wnid a line,
// - ILSVRC2012_validation_ground_truth.txt, one id a line; then `synsets` is a text file with the wnids in the order of
//   the ids, one a line.
// Throws UsageError that names the line.
std::vector<std::string> read_imagenet_truth(const std::filesystem::path& truth, const std::filesystem::path& synsets);

// The number in "ILSVRC2012_val_00000017.JPEG". Throws UsageError for another name.
std::size_t validation_number(std::string_view name);

}  // namespace lockstep::data
