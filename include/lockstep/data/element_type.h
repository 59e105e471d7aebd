// The types that numbers in files have.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep::data {

enum class ElementType : std::uint8_t {
  kBool,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat8E4M3,  // finite only, with NaN: torch.float8_e4m3fn
  kFloat8E5M2,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kComplex64,
};

// Bytes of one element.
std::size_t element_size(ElementType type);

// As PyTorch writes it: "float32", "uint8", "float8_e4m3fn".
std::string_view element_name(ElementType type);

// As a safetensors file writes it: "F32", "U8", "F8_E4M3".
std::string_view safetensors_name(ElementType type);

// The type of that name in PyTorch, in a safetensors file ("F32"), or in a .npy file ("<f4"); nothing when there is
// none.
std::optional<ElementType> find_element_type(std::string_view name);
std::optional<ElementType> find_safetensors_type(std::string_view name);
std::optional<ElementType> find_npy_type(std::string_view name);

}  // namespace lockstep::data
