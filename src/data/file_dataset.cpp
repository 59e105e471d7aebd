#include <lockstep/data/file_dataset.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "copy_to_tensor.h"

namespace lockstep::data {
namespace {

at::ScalarType scalar_type(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return at::kBool;
    case ElementType::kUint8:
      return at::kByte;
    case ElementType::kInt8:
      return at::kChar;
    case ElementType::kUint16:
      return at::kUInt16;
    case ElementType::kInt16:
      return at::kShort;
    case ElementType::kUint32:
      return at::kUInt32;
    case ElementType::kInt32:
      return at::kInt;
    case ElementType::kUint64:
      return at::kUInt64;
    case ElementType::kInt64:
      return at::kLong;
    case ElementType::kFloat8E4M3:
      return at::kFloat8_e4m3fn;
    case ElementType::kFloat8E5M2:
      return at::kFloat8_e5m2;
    case ElementType::kFloat16:
      return at::kHalf;
    case ElementType::kBfloat16:
      return at::kBFloat16;
    case ElementType::kFloat32:
      return at::kFloat;
    case ElementType::kFloat64:
      return at::kDouble;
    case ElementType::kComplex64:
      return at::kComplexFloat;
  }
  throw UsageError("a tensor has a type that is not known");
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

DatasetPtr safetensors_dataset(const std::filesystem::path& path, const std::string& data, const std::string& targets) {
  const SafetensorsFile file(path);
  return tensor_dataset(to_tensor(file.at(data), file.owner()), to_tensor(file.at(targets), file.owner()));
}

DatasetPtr npy_dataset(const std::filesystem::path& data, const std::filesystem::path& targets) {
  const TensorFile values = open_npy(data), labels = open_npy(targets);
  return tensor_dataset(to_tensor(values.tensor, values.owner), to_tensor(labels.tensor, labels.owner));
}

DatasetPtr csv_dataset(const std::filesystem::path& path, const CsvOptions& options) {
  if (options.label.empty()) {
    throw UsageError({.message = fmt::format("'{}' needs a column of labels to train on", path.string()),
                      .next = "name the column"});
  }
  const CsvTable table = read_csv(path, options);
  return tensor_dataset(copy_to_tensor(std::span(table.values), {table.rows, table.width}),
                        copy_to_tensor(std::span(table.labels), {table.rows}));
}

}  // namespace lockstep::data
