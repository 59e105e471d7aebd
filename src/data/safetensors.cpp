#include <algorithm>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include <lockstep/base/damaged_file.h>

#include "tensor_formats.h"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::size_t kMaxDimensions = 64;
constexpr std::string_view kMetadata = "__metadata__";

// A tensor as the header describes it; what is missing stays empty.
struct Entry {
  std::string name, type;
  bool has_type = false, has_shape = false, has_offsets = false;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> offsets;
};

// Takes the header's JSON event by event, so that nothing but what the format has is ever built:
// {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"KEY": "VALUE"}}
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_integer(number_integer_t) override { return refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return refuse("a fraction"); }
  bool binary(binary_t&) override { return refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (numbers_ == nullptr) return refuse("a number");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return refuse("a huge number");
    if (numbers_->size() == kMaxDimensions) return refuse("a long list");
    numbers_->push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (depth_ != 2 || numbers_ != nullptr) return refuse("a string");
    if (in_metadata_) return metadata_.emplace(key_, value).second || refuse("a key twice");
    if (key_ != "dtype") return refuse("a string");
    entries_.back().type = value;
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ == 2 || numbers_ != nullptr) return refuse("an object");
    ++depth_;
    return true;
  }

  bool end_object() override {
    if (--depth_ == 1) in_metadata_ = false;
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || numbers_ != nullptr) return refuse("a list");
    Entry& entry = entries_.back();
    if (key_ == "shape") numbers_ = &entry.shape;
    if (key_ == "data_offsets") numbers_ = &entry.offsets;
    return numbers_ != nullptr || refuse("a list");
  }

  bool end_array() override {
    numbers_ = nullptr;
    return true;
  }

  bool key(string_t& key) override {
    key_ = key;
    if (depth_ == 1) return begin_entry();
    if (in_metadata_) return true;
    Entry& entry = entries_.back();
    bool Entry::*seen = key == "dtype"          ? &Entry::has_type
                        : key == "shape"        ? &Entry::has_shape
                        : key == "data_offsets" ? &Entry::has_offsets
                                                : nullptr;
    if (seen == nullptr || entry.*seen) return refuse("an unknown key, or one twice");
    entry.*seen = true;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    problem_ = fmt::format("no JSON at byte {} of it", position);
    return false;
  }

  const std::string& problem() const { return problem_; }
  std::vector<Entry>& entries() { return entries_; }
  std::map<std::string, std::string>& metadata() { return metadata_; }

 private:
  bool begin_entry() {
    if (!names_.insert(key_).second) return refuse("a name twice");
    in_metadata_ = key_ == kMetadata;
    if (!in_metadata_) entries_.emplace_back().name = key_;
    return true;
  }

  bool refuse(const std::string& what) {
    problem_ = key_.empty() ? what : fmt::format("{} at '{}'", what, key_.substr(0, 200));
    return false;
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  std::string key_, problem_;
  std::vector<std::int64_t>* numbers_ = nullptr;  // the list that is being read
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
  std::map<std::string, std::string> metadata_;
};

TensorBytes tensor_of(Entry& entry, std::span<const std::byte> data, const std::string& name) {
  const auto wrong = [&](const std::string& found, const std::string& expected) {
    return damaged_file(name, fmt::format("describes tensor '{}' wrongly", entry.name), found, expected);
  };
  if (!entry.has_type || !entry.has_shape || !entry.has_offsets) {
    throw wrong("a part is missing", "dtype, shape and data_offsets");
  }
  const std::optional<ElementType> type = find_safetensors_type(entry.type);
  if (!type) throw wrong(fmt::format("dtype '{}'", entry.type), "a dtype of safetensors with whole bytes");
  const auto& offsets = entry.offsets;
  if (offsets.size() != 2 || offsets[0] > offsets[1] || static_cast<std::uint64_t>(offsets[1]) > data.size()) {
    throw wrong(fmt::format("data_offsets [{}]", fmt::join(offsets, ", ")),
                fmt::format("two, from 0 to {}, the file's end", data.size()));
  }
  const auto start = static_cast<std::size_t>(offsets[0]), end = static_cast<std::size_t>(offsets[1]);
  if (const auto size = tensor_size(*type, entry.shape); size != end - start) {
    throw wrong(fmt::format("{} bytes for {} [{}]", end - start, entry.type, fmt::join(entry.shape, ", ")),
                size ? std::to_string(*size) : "a shape that fits in memory");
  }
  return {.name = std::move(entry.name),
          .type = *type,
          .shape = std::move(entry.shape),
          .bytes = data.subspan(start, end - start)};
}

// Tensors fill the file: no byte is in two of them, and none in none.
void check_that_they_fill(std::span<const TensorBytes> tensors, std::span<const std::byte> data,
                          const std::string& name) {
  const std::byte* end = data.data();
  for (const TensorBytes& tensor : tensors) {
    if (tensor.bytes.data() != end) {
      throw damaged_file(name, fmt::format("has a gap or an overlap before tensor '{}'", tensor.name),
                         std::to_string(tensor.bytes.data() - data.data()), std::to_string(end - data.data()));
    }
    end += tensor.bytes.size();
  }
  if (end != data.data() + data.size()) {
    throw damaged_file(name, "has bytes that belong to no tensor", std::to_string(data.data() + data.size() - end));
  }
}

}  // namespace

SafetensorsContent parse_safetensors(std::span<const std::byte> content, const std::string& name) {
  constexpr std::size_t kLengthBytes = 8;
  if (content.size() < kLengthBytes) throw damaged_file(name, "is truncated");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<std::uint64_t>(content[i]) << (8 * i);
  if (length > kMaxHeader) {
    throw damaged_file(name, "is no safetensors file, or has too long a header", fmt::format("{} bytes", length),
                       fmt::format("at most {}", kMaxHeader));
  }
  const std::span<const std::byte> rest = content.subspan(kLengthBytes);
  if (length > rest.size()) throw damaged_file(name, "is truncated");
  const std::span<const std::byte> header = rest.first(length), data = rest.subspan(length);
  if (header.empty() || header[0] != std::byte{'{'}) throw damaged_file(name, "has a header that is no JSON object");

  HeaderReader reader;
  const auto* text = reinterpret_cast<const char*>(header.data());
  if (!nlohmann::json::sax_parse(text, text + header.size(), &reader)) {
    throw damaged_file(name, "has a header that is not that of safetensors", reader.problem());
  }
  SafetensorsContent result{
      .header = content.first(kLengthBytes + length), .tensors = {}, .metadata = std::move(reader.metadata())};
  for (Entry& entry : reader.entries()) result.tensors.push_back(tensor_of(entry, data, name));
  std::sort(result.tensors.begin(), result.tensors.end(), [](const TensorBytes& a, const TensorBytes& b) {
    // One without bytes begins where the next does.
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  check_that_they_fill(result.tensors, data, name);
  return result;
}

}  // namespace lockstep::data
