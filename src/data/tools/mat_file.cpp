#include "mat_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::data {
namespace {

// Types of elements, and classes of arrays, by MATLAB's numbers.
enum Type : std::uint32_t {
  kInt8 = 1,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kDouble = 9,
  kMatrix = 14,
  kCompressed,
  kUtf8
};
enum Class : std::uint32_t { kStruct = 2 };

constexpr std::size_t kHeaderBytes = 128;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::size_t kMostSynsets = 100'000;
constexpr std::size_t kMostFields = 256;

UsageError bad(const std::string& what) {
  return UsageError(
      {.message = "meta.mat cannot be read: " + what,
       .next = "give --truth a text file with one class, such as n01751748, for each validation picture"});
}

using Bytes = std::span<const std::byte>;

struct Element {
  std::uint32_t type = 0;
  Bytes content;
};

std::uint32_t word_at(Bytes bytes, std::size_t offset) {
  std::uint32_t word = 0;
  if (bytes.size() < offset + sizeof(word)) throw bad("it ends too soon");
  std::memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}

// Takes the element at the front of `bytes`: a tag of 8 bytes and a content that is filled up to a multiple of 8, or
// both in 8 bytes.
Element take(Bytes& bytes) {
  const std::uint32_t first = word_at(bytes, 0), second = word_at(bytes, 4);
  if (const std::uint32_t small = first >> 16; small != 0) {
    if (small > 4) throw bad("an element is longer than it may be");
    const Element element{.type = first & 0xffff, .content = bytes.subspan(4, small)};
    bytes = bytes.subspan(8);
    return element;
  }
  Bytes rest = bytes.subspan(8);
  if (second > rest.size()) throw bad("it ends too soon");
  const Element element{.type = first, .content = rest.first(second)};
  const std::size_t filled = first == kCompressed ? second : (std::size_t{second} + 7) / 8 * 8;
  bytes = rest.subspan(std::min(filled, rest.size()));
  return element;
}

std::vector<std::byte> inflate(Bytes compressed) {
  std::vector<std::byte> content(
      std::min<std::size_t>(kMostBytes, std::max<std::size_t>(1024, compressed.size() * 16)));
  for (;;) {
    uLongf size = content.size();
    const int code = ::uncompress(reinterpret_cast<Bytef*>(content.data()), &size,
                                  reinterpret_cast<const Bytef*>(compressed.data()), compressed.size());
    if (code == Z_OK) {
      content.resize(size);
      return content;
    }
    if (code != Z_BUF_ERROR || content.size() >= kMostBytes) throw bad("its compressed part is damaged");
    content.resize(std::min(kMostBytes, content.size() * 4));
  }
}

// An array: its class, its number of elements, and what follows its name.
struct Array {
  std::uint32_t kind = 0;
  std::size_t count = 1;
  std::string_view name;
  Bytes rest;
};

Array open_array(Bytes content) {
  Array array;
  array.kind = word_at(take(content).content, 0) & 0xff;
  const Bytes dimensions = take(content).content;
  for (std::size_t i = 0; i + 4 <= dimensions.size(); i += 4) {
    const std::size_t size = word_at(dimensions, i);
    if (size > kMostBytes || array.count * size > kMostBytes) throw bad("an array is too large");
    array.count *= size;
  }
  const Bytes name = take(content).content;
  array.name = {reinterpret_cast<const char*>(name.data()), name.size()};
  array.rest = content;
  return array;
}

std::size_t width_of(std::uint32_t type) {
  switch (type) {
    case kInt8:
    case kUint8:
    case kUtf8:
      return 1;
    case kInt16:
    case kUint16:
      return 2;
    case kInt32:
    case kUint32:
      return 4;
    default:
      return type == kDouble ? 8 : 0;
  }
}

// The numbers of an array, whatever type they are stored as.
std::vector<double> numbers_of(Bytes matrix) {
  Bytes rest = open_array(matrix).rest;
  if (rest.empty()) return {};
  const Element element = take(rest);
  const std::size_t width = width_of(element.type);
  if (width == 0) throw bad(fmt::format("it has numbers of an unknown type, {}", element.type));
  std::vector<double> numbers;
  for (std::size_t i = 0; i + width <= element.content.size(); i += width) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, element.content.data() + i, width);
    numbers.push_back(element.type == kDouble ? std::bit_cast<double>(bits) : static_cast<double>(bits));
  }
  return numbers;
}

std::string text_of(Bytes matrix) {
  std::string text;
  for (const double letter : numbers_of(matrix)) text += letter >= 32 && letter < 127 ? static_cast<char>(letter) : '?';
  return text;
}

// The names are in one piece, each filled up with zeros to the same length.
std::vector<std::string> field_names(Bytes& rest) {
  const std::uint32_t length = word_at(take(rest).content, 0);
  const Bytes names = take(rest).content;
  if (length == 0 || names.size() / length > kMostFields) throw bad("its fields make no sense");
  std::vector<std::string> fields;
  for (std::size_t i = 0; i + length <= names.size(); i += length) {
    const std::string_view name(reinterpret_cast<const char*>(names.data()) + i, length);
    fields.emplace_back(name.substr(0, name.find('\0')));
  }
  return fields;
}

std::vector<Synset> synsets_of(const Array& array) {
  if (array.kind != kStruct || array.count > kMostSynsets) throw bad("'synsets' is no array of structures");
  Bytes rest = array.rest;
  const std::vector<std::string> fields = field_names(rest);
  std::vector<Synset> synsets(array.count);
  for (Synset& synset : synsets) {
    for (const std::string& field : fields) {
      const Element value = take(rest);
      if (value.type != kMatrix) throw bad("a field is no array");
      if (field == "WNID") synset.wnid = text_of(value.content);
      if (field != "ILSVRC2012_ID") continue;
      const std::vector<double> id = numbers_of(value.content);
      if (id.size() != 1 || !(id[0] >= 1 && id[0] <= static_cast<double>(kMostSynsets)))
        throw bad("an id makes no sense");
      synset.id = static_cast<int>(id[0]);
    }
  }
  return synsets;
}

}  // namespace

std::vector<Synset> read_synsets(std::span<const std::byte> mat_file) {
  if (mat_file.size() < kHeaderBytes || std::memcmp(mat_file.data(), "MATLAB 5.0", 10) != 0) {
    throw bad("it is no MATLAB file of level 5");
  }
  Bytes rest = mat_file.subspan(kHeaderBytes);
  while (!rest.empty()) {
    Element element = take(rest);
    std::vector<std::byte> inflated;
    if (element.type == kCompressed) {
      inflated = inflate(element.content);
      Bytes inside = inflated;
      element = take(inside);
    }
    if (element.type != kMatrix) continue;
    if (const Array array = open_array(element.content); array.name == "synsets") return synsets_of(array);
  }
  throw bad("it has no array 'synsets'");
}

}  // namespace lockstep::data
