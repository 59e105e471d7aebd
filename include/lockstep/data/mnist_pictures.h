// MNIST, and the sets that come in files of the same names: Fashion-MNIST, KMNIST.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <lockstep/data/pixel_set.h>
#include <lockstep/data/split.h>

namespace lockstep::data {

// "0" to "9".
std::vector<std::string> digits();

// "T-shirt/top" to "Ankle boot", as the authors of Fashion-MNIST number them.
std::vector<std::string> fashion_classes();

// Reads the pair of idx files of a split, under their usual names, with or without .gz, as pictures of 28 x 28 pixels
// and one channel. Throws UsageError for files that are missing or wrong, and for labels that do not fit the images or
// the classes.
PixelSet read_mnist_pictures(const std::filesystem::path& folder, Split split,
                             std::vector<std::string> classes = digits());

}  // namespace lockstep::data
