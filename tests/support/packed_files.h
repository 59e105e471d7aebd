// Small packed files, and what is in them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <lockstep/base/files.h>
#include <lockstep/data/packed.h>
#include <lockstep/data/packed_writer.h>

#include "pictures.h"

namespace lockstep::test {

inline std::string text_of(const data::Picture& picture) {
  return {reinterpret_cast<const char*>(picture.bytes.data()), picture.bytes.size()};
}

inline const std::vector<std::string> kClasses = {"cat", "dog"};
inline const std::vector<std::string> kTexts = {"the first sample", std::string(5000, 's'), "third"};

inline std::string digest(const std::string& source) {
  return files::sha256(source);
}

// Adds sample `i` of a set that has as many as are asked for.
inline void add_sample(data::PackedWriter& writer, std::int64_t i) {
  const std::string text = kTexts[static_cast<std::size_t>(i) % kTexts.size()] + std::to_string(i);
  writer.add({.bytes = bytes_of(text), .label = i % 2}, "cat/" + std::to_string(i) + ".jpg");
}

inline void write_packed(const std::filesystem::path& path, std::int64_t samples = 3) {
  data::PackedWriter writer(path, kClasses, digest("test"));
  for (std::int64_t i = writer.position(); i < samples; ++i) add_sample(writer, i);
  writer.finish();
}

}  // namespace lockstep::test
