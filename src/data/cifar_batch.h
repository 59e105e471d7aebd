// The two formats that a file of CIFAR's pictures may have.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

inline constexpr int kCifarSide = 32;
inline constexpr std::size_t kCifarPlane = std::size_t{kCifarSide} * kCifarSide;
inline constexpr std::size_t kCifarPicture = 3 * kCifarPlane;

// How the labels of a set are stored.
struct CifarLabelPlace {
  std::size_t bytes = 1;            // labels before each picture of the binary form
  std::size_t place = 0;            // which of them is meant
  std::string_view key = "labels";  // the same in a pickle
  std::int64_t classes = 10;
};

// Pictures as rows of pixels, where the files have a plane for each color.
struct CifarPictures {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;
};

// Append a file's pictures. Throw UsageError that names the file and what is wrong with it.
void append_cifar_binary(std::span<const std::byte> content, const CifarLabelPlace& label, const std::string& name,
                         CifarPictures& pictures);
void append_cifar_pickle(std::span<const std::byte> content, const CifarLabelPlace& label, const std::string& name,
                         CifarPictures& pictures);

}  // namespace lockstep::data
