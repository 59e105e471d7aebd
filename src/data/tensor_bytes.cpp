#include <lockstep/data/tensor_bytes.h>

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::data {
namespace {

constexpr std::pair<ElementType, at::ScalarType> kTypes[] = {
    {ElementType::kBool, at::kBool},
    {ElementType::kUint8, at::kByte},
    {ElementType::kInt8, at::kChar},
    {ElementType::kUint16, at::kUInt16},
    {ElementType::kInt16, at::kShort},
    {ElementType::kUint32, at::kUInt32},
    {ElementType::kInt32, at::kInt},
    {ElementType::kUint64, at::kUInt64},
    {ElementType::kInt64, at::kLong},
    {ElementType::kFloat8E4M3, at::kFloat8_e4m3fn},
    {ElementType::kFloat8E5M2, at::kFloat8_e5m2},
    {ElementType::kFloat16, at::kHalf},
    {ElementType::kBfloat16, at::kBFloat16},
    {ElementType::kFloat32, at::kFloat},
    {ElementType::kFloat64, at::kDouble},
    {ElementType::kComplex64, at::kComplexFloat},
};

at::ScalarType scalar_type(ElementType type) {
  const auto* const found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto& t) { return t.first == type; });
  if (found == std::end(kTypes)) throw UsageError("a tensor has a type that is not known");
  return found->second;
}

ElementType element_type(const std::string& name, at::ScalarType type) {
  const auto* const found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto& t) { return t.second == type; });
  if (found == std::end(kTypes)) {
    throw UsageError({.message = fmt::format("the tensor '{}' cannot be written to a file", name),
                      .found = fmt::format("type {}", c10::toString(type))});
  }
  return found->first;
}

bool is_aligned(const TensorBytes& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % element_size(tensor.type) == 0;
}

}  // namespace

at::Tensor to_tensor(const TensorBytes& bytes, std::shared_ptr<const void> owner) {
  const at::ScalarType type = scalar_type(bytes.type);
  if (!is_aligned(bytes)) {
    at::Tensor tensor = at::empty(bytes.shape, type);
    std::copy(bytes.bytes.begin(), bytes.bytes.end(), static_cast<std::byte*>(tensor.mutable_data_ptr()));
    return tensor;
  }
  void* const data = const_cast<std::byte*>(bytes.bytes.data());  // from_blob knows no other
  return at::from_blob(
      data, bytes.shape, [kept = std::move(owner)](void*) {}, type);
}

TensorBytes to_bytes(const std::string& name, const at::Tensor& tensor) {
  if (!tensor.device().is_cpu() || !tensor.is_contiguous()) {
    throw UsageError(fmt::format("the tensor '{}' must be contiguous and on the CPU to be written", name));
  }
  return {.name = name,
          .type = element_type(name, tensor.scalar_type()),
          .shape = tensor.sizes().vec(),
          .bytes = {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}};
}

}  // namespace lockstep::data
