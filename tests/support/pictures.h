// The small pictures of tests/data/pictures.
#pragma once
#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {

inline std::filesystem::path pictures_folder() {
  return test::source_path("tests/data/pictures");
}

// Their paths, in order.
inline std::vector<std::filesystem::path> good_pictures() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(pictures_folder() / "good")) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::span<const std::byte> bytes_of(const std::string& content) {
  return std::as_bytes(std::span(content));
}

}  // namespace lockstep::test
