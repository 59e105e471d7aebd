#include <algorithm>
#include <charconv>

#include <lockstep/base/damaged_file.h>

#include "tensor_formats.h"

namespace lockstep::data {
namespace {

// What numpy itself reads without being told to trust the file.
constexpr std::size_t kMaxHeader = 10'000;
constexpr std::size_t kMaxDimensions = 64;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The header is a dictionary as Python writes it: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class Header {
 public:
  Header(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  TensorBytes read() {
    TensorBytes tensor;
    bool has_type = false, has_order = false, has_shape = false;
    expect("{");
    while (!accept("}")) {
      const std::string_view key = string();
      expect(":");
      if (key == "descr" && !has_type) {
        tensor.type = type();
        has_type = true;
      } else if (key == "fortran_order" && !has_order) {
        require_c_order();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        tensor.shape = shape();
        has_shape = true;
      } else {
        throw damaged_file(name_, "has a header with a key that does not belong there", std::string(key));
      }
      if (accept("}")) break;
      expect(",");
    }
    skip_spaces();
    if (!rest_.empty() || !has_type || !has_order || !has_shape) throw bad();
    return tensor;
  }

 private:
  UsageError bad() const {
    return damaged_file(name_, "has a header that is not numpy's", std::string(rest_.substr(0, 40)),
                        "{'descr': ..., 'fortran_order': ..., 'shape': ...}");
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }

  bool accept(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void expect(std::string_view word) {
    if (!accept(word)) throw bad();
  }

  std::string_view string() {
    skip_spaces();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) throw bad();
    const std::string_view word = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return word;
  }

  ElementType type() {
    skip_spaces();
    if (rest_.starts_with("[")) throw damaged_file(name_, "holds records, not numbers");
    const std::string_view word = string();
    const std::optional<ElementType> found = find_npy_type(word);
    if (!found) {
      throw damaged_file(name_, "holds elements of a type that is not read", std::string(word),
                         "little-endian numbers, such as '<f4'");
    }
    return *found;
  }

  void require_c_order() {
    if (accept("True")) throw damaged_file(name_, "is in Fortran's order", "", "C's: np.ascontiguousarray makes it so");
    expect("False");
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    expect("(");
    while (!accept(")")) {
      skip_spaces();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc{} || size < 0 || sizes.size() == kMaxDimensions) throw bad();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      sizes.push_back(size);
      if (accept(")")) break;
      expect(",");
    }
    return sizes;
  }

  std::string_view rest_;
  const std::string& name_;
};

}  // namespace

TensorBytes parse_npy(std::span<const std::byte> content, const std::string& name) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!text_of(content).starts_with(kMagic)) throw damaged_file(name, "is no .npy file");
  std::span<const std::byte> rest = content.subspan(kMagic.size());
  if (rest.size() < 2) throw damaged_file(name, "is truncated");
  const int version = std::to_integer<int>(rest[0]);
  if (version < 1 || version > 3 || rest[1] != std::byte{0}) {
    throw damaged_file(name, "is of a version that is not read",
                       fmt::format("{}.{}", version, std::to_integer<int>(rest[1])), "1.0, 2.0 or 3.0");
  }
  rest = rest.subspan(2);
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (rest.size() < length_bytes) throw damaged_file(name, "is truncated");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::to_integer<std::size_t>(rest[i]) << (8 * i);
  rest = rest.subspan(length_bytes);
  if (length > kMaxHeader) {
    throw damaged_file(name, "has too long a header", std::to_string(length), fmt::format("at most {}", kMaxHeader));
  }
  if (length > rest.size()) throw damaged_file(name, "is truncated");
  TensorBytes tensor = Header(text_of(rest.first(length)), name).read();
  tensor.bytes = rest.subspan(length);
  if (const std::optional<std::uint64_t> size = tensor_size(tensor.type, tensor.shape); size != tensor.bytes.size()) {
    throw damaged_file(name, "is truncated, or longer than it says", fmt::format("{} bytes", tensor.bytes.size()),
                       size ? std::to_string(*size) : "a shape that fits in memory");
  }
  return tensor;
}

}  // namespace lockstep::data
