#include <lockstep/data/element_type.h>

#include <algorithm>
#include <array>

namespace lockstep::data {
namespace {

struct Row {
  ElementType type;
  std::size_t size;
  std::string_view name, safetensors, npy;  // empty: that format does not have it
};

using enum ElementType;
constexpr std::array<Row, 16> kRows = {{{kBool, 1, "bool", "BOOL", "|b1"},
                                        {kUint8, 1, "uint8", "U8", "|u1"},
                                        {kInt8, 1, "int8", "I8", "|i1"},
                                        {kUint16, 2, "uint16", "U16", "<u2"},
                                        {kInt16, 2, "int16", "I16", "<i2"},
                                        {kUint32, 4, "uint32", "U32", "<u4"},
                                        {kInt32, 4, "int32", "I32", "<i4"},
                                        {kUint64, 8, "uint64", "U64", "<u8"},
                                        {kInt64, 8, "int64", "I64", "<i8"},
                                        {kFloat8E4M3, 1, "float8_e4m3fn", "F8_E4M3", ""},
                                        {kFloat8E5M2, 1, "float8_e5m2", "F8_E5M2", ""},
                                        {kFloat16, 2, "float16", "F16", "<f2"},
                                        {kBfloat16, 2, "bfloat16", "BF16", ""},
                                        {kFloat32, 4, "float32", "F32", "<f4"},
                                        {kFloat64, 8, "float64", "F64", "<f8"},
                                        {kComplex64, 8, "complex64", "C64", "<c8"}}};

const Row& row_of(ElementType type) {
  return kRows[static_cast<std::size_t>(type)];
}

std::optional<ElementType> find(std::string_view name, std::string_view Row::*column) {
  const auto found =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return !name.empty() && row.*column == name; });
  if (found == kRows.end()) return std::nullopt;
  return found->type;
}

}  // namespace

std::size_t element_size(ElementType type) {
  return row_of(type).size;
}

std::string_view element_name(ElementType type) {
  return row_of(type).name;
}

std::string_view safetensors_name(ElementType type) {
  return row_of(type).safetensors;
}

std::optional<ElementType> find_element_type(std::string_view name) {
  return find(name, &Row::name);
}

std::optional<ElementType> find_safetensors_type(std::string_view name) {
  return find(name, &Row::safetensors);
}

std::optional<ElementType> find_npy_type(std::string_view name) {
  return find(name, &Row::npy);
}

}  // namespace lockstep::data
