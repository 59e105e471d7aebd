// A tensor as PyTorch's pickles describe it: a window on a storage.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lockstep/base/pickle.h>
#include <lockstep/data/tensor_file.h>

namespace lockstep::checkpoint {

struct TorchTensor {
  std::string name;
  data::ElementType type = data::ElementType::kFloat32;
  std::string storage;                 // its bytes are the entry data/STORAGE
  std::uint64_t storage_elements = 0;  // as the pickle claims
  std::uint64_t bytes = 0;             // in plain order
  std::int64_t offset = 0;             // in elements, as the strides
  std::vector<std::int64_t> sizes, strides;
};

// Whether a value is a tensor or a parameter.
bool is_tensor(const Pickle::Value& value);

// Throws UsageError, which names the file and the tensor, when the description makes no sense, or reaches out of the
// storage.
TorchTensor describe_tensor(const Pickle& pickle, const Pickle::Value& value, std::string name);

// Throws UsageError, which names `file`, when the storage is not of the size that was claimed.
void require_storage(const TorchTensor& tensor, std::span<const std::byte> storage, const std::string& file);

// Its elements in plain order: where they are, kept by `owner`, if they lie so, else a copy. Throws as
// require_storage() does.
data::TensorFile plain_tensor(const TorchTensor& tensor, std::span<const std::byte> storage,
                              const std::shared_ptr<const void>& owner, const std::string& file);

}  // namespace lockstep::checkpoint
