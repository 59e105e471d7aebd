// What PyTorch's tensors are called in a pickle.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include <lockstep/data/element_type.h>

namespace lockstep::checkpoint {

inline constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
inline constexpr std::string_view kRebuildTypedTensor =
    "torch._utils._rebuild_tensor_v3";  // of types without a storage
inline constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";
inline constexpr std::string_view kUntypedStorage = "torch.storage.UntypedStorage";

// All that a checkpoint may name: the above, storages, types, and the few that optimizers and schedules keep.
std::span<const std::string_view> torch_names();

// "torch.FloatStorage"; empty for a type that has none.
std::string_view storage_name(data::ElementType type);
std::optional<data::ElementType> type_of_storage(std::string_view name);

// "torch.float32"
std::optional<data::ElementType> type_of_dtype(std::string_view name);

}  // namespace lockstep::checkpoint
