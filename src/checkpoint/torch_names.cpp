#include "torch_names.h"

#include <algorithm>
#include <array>

namespace lockstep::checkpoint {
namespace {

using data::ElementType;
using enum data::ElementType;

struct Storage {
  ElementType type;
  std::string_view name;
};

constexpr std::array<Storage, 11> kStorages = {{{kBool, "torch.BoolStorage"},
                                                {kUint8, "torch.ByteStorage"},
                                                {kInt8, "torch.CharStorage"},
                                                {kInt16, "torch.ShortStorage"},
                                                {kInt32, "torch.IntStorage"},
                                                {kInt64, "torch.LongStorage"},
                                                {kFloat16, "torch.HalfStorage"},
                                                {kBfloat16, "torch.BFloat16Storage"},
                                                {kFloat32, "torch.FloatStorage"},
                                                {kFloat64, "torch.DoubleStorage"},
                                                {kComplex64, "torch.ComplexFloatStorage"}}};

constexpr std::array<std::string_view, 38> kNames = {
    kRebuildTensor, kRebuildTypedTensor, kRebuildParameter, kUntypedStorage,
    // storages; of the last no tensor is read
    "torch.BoolStorage", "torch.ByteStorage", "torch.CharStorage", "torch.ShortStorage", "torch.IntStorage",
    "torch.LongStorage", "torch.HalfStorage", "torch.BFloat16Storage", "torch.FloatStorage", "torch.DoubleStorage",
    "torch.ComplexFloatStorage", "torch.ComplexDoubleStorage",
    // types
    "torch.bool", "torch.uint8", "torch.int8", "torch.uint16", "torch.int16", "torch.uint32", "torch.int32",
    "torch.uint64", "torch.int64", "torch.float8_e4m3fn", "torch.float8_e5m2", "torch.float16", "torch.bfloat16",
    "torch.float32", "torch.float64", "torch.complex64", "torch.complex128",
    // beside the weights
    "torch.Size", "torch.device", "collections.Counter", "__builtin__.set", "builtins.set"};

}  // namespace

std::span<const std::string_view> torch_names() {
  return kNames;
}

std::string_view storage_name(ElementType type) {
  const auto found = std::find_if(kStorages.begin(), kStorages.end(), [&](const Storage& s) { return s.type == type; });
  return found == kStorages.end() ? std::string_view() : found->name;
}

std::optional<ElementType> type_of_storage(std::string_view name) {
  const auto found = std::find_if(kStorages.begin(), kStorages.end(), [&](const Storage& s) { return s.name == name; });
  if (found == kStorages.end()) return std::nullopt;
  return found->type;
}

std::optional<ElementType> type_of_dtype(std::string_view name) {
  constexpr std::string_view kModule = "torch.";
  if (!name.starts_with(kModule)) return std::nullopt;
  return data::find_element_type(name.substr(kModule.size()));
}

}  // namespace lockstep::checkpoint
