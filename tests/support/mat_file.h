// A MATLAB file of the form of ImageNet's meta.mat.
#pragma once
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace lockstep::test {

inline std::string little_endian(std::uint32_t number) {
  std::string text(4, '\0');
  std::memcpy(text.data(), &number, text.size());
  return text;
}

inline std::string mat_element(std::uint32_t type, const std::string& content) {
  // As MATLAB writes it: what fits into four bytes is in the tag.
  if (content.size() <= 4 && !content.empty() && type != 14) {
    const auto size = static_cast<std::uint32_t>(content.size());
    return little_endian(type | size << 16) + content + std::string(4 - content.size(), '\0');
  }
  const std::size_t filled = type == 15 ? content.size() : (content.size() + 7) / 8 * 8;
  return little_endian(type) + little_endian(static_cast<std::uint32_t>(content.size())) + content +
         std::string(filled - content.size(), '\0');
}

inline std::string mat_array(std::uint32_t kind, std::uint32_t rows, std::uint32_t columns, const std::string& name,
                             const std::string& content) {
  return mat_element(14, mat_element(6, little_endian(kind) + little_endian(0)) +
                             mat_element(5, little_endian(rows) + little_endian(columns)) +
                             (name.empty() ? little_endian(1) + little_endian(0) : mat_element(1, name)) + content);
}

inline std::string mat_text(const std::string& text) {
  std::string wide;
  for (const char c : text) wide += {c, '\0'};
  return mat_array(4, 1, static_cast<std::uint32_t>(text.size()), "", mat_element(4, wide));
}

inline std::string mat_number(std::uint8_t number) {
  return mat_array(6, 1, 1, "", mat_element(2, std::string(1, static_cast<char>(number))));
}

// The array `synsets`, ids from 1, compressed as MATLAB does.
inline std::string meta_mat(const std::vector<std::string>& wnids) {
  const std::vector<std::string> fields = {"ILSVRC2012_ID", "WNID", "words"};
  constexpr std::size_t kLength = 18;
  std::string names;
  for (std::string field : fields) {
    field.resize(kLength);
    names += field;
  }
  std::string content = mat_element(5, little_endian(kLength)) + mat_element(1, names);
  std::uint8_t id = 0;
  for (const std::string& wnid : wnids) content += mat_number(++id) + mat_text(wnid) + mat_text("some words, and more");
  const std::string array = mat_array(2, static_cast<std::uint32_t>(wnids.size()), 1, "synsets", content);
  std::string compressed(::compressBound(array.size()), '\0');
  uLongf size = compressed.size();
  ::compress(reinterpret_cast<Bytef*>(compressed.data()), &size, reinterpret_cast<const Bytef*>(array.data()),
             array.size());
  compressed.resize(size);
  std::string header = "MATLAB 5.0 MAT-file, Platform: GLNXA64";
  header.resize(124, ' ');
  header += std::string("\x00\x01IM", 4);
  return header + mat_element(15, compressed);
}

}  // namespace lockstep::test
