// MATLAB's files, level 5, as far as ImageNet's meta.mat needs them: one array of structures.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace lockstep::data {

// A class of ImageNet as the development kit lists it.
struct Synset {
  int id = 0;        // ILSVRC2012_ID, from 1
  std::string wnid;  // "n02119789"
};

// The fields ILSVRC2012_ID and WNID of the array `synsets`. Throws UsageError that says what is wrong; the content is
// never trusted.
std::vector<Synset> read_synsets(std::span<const std::byte> mat_file);

}  // namespace lockstep::data
