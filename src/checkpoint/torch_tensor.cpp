#include "torch_tensor.h"

#include <cstring>
#include <optional>

#include <fmt/ranges.h>

#include <lockstep/base/damaged_file.h>

#include "torch_names.h"

namespace lockstep::checkpoint {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

constexpr std::size_t kMostDimensions = 64;

UsageError wrong(const std::string& file, const std::string& name, std::string found, std::string expected) {
  return damaged_file(file, fmt::format("describes tensor '{}' wrongly", name), std::move(found), std::move(expected));
}

// Reads one description, from the call that makes the tensor.
class Description {
 public:
  Description(const Pickle& pickle, std::string name) : pickle_(pickle) { result_.name = std::move(name); }

  TorchTensor run(const Value& value) {
    const Value& call = value.text == kRebuildParameter ? argument(value, 0) : value;
    if (call.kind != Kind::kCall || (call.text != kRebuildTensor && call.text != kRebuildTypedTensor)) {
      throw wrong("a parameter without a tensor", "one");
    }
    const bool typed = call.text == kRebuildTypedTensor;
    const std::size_t known = typed ? 7 : 6, given = arguments(call).size();
    if (given < known || given > known + 1) throw wrong(fmt::format("{} arguments", given), std::to_string(known));
    // Signs and conjugates that were put off until the tensor is read.
    if (given > known && !argument(call, known).elements.empty()) throw wrong("a view that changes its values", "none");
    take_storage(argument(call, 0), typed ? &argument(call, 6) : nullptr);
    result_.offset = size_at(argument(call, 1));
    result_.sizes = sizes_at(argument(call, 2));
    result_.strides = sizes_at(argument(call, 3));
    check_reach();
    return std::move(result_);
  }

 private:
  UsageError wrong(std::string found, std::string expected) const {
    return checkpoint::wrong(pickle_.name(), result_.name, std::move(found), std::move(expected));
  }

  const std::vector<Pickle::Place>& arguments(const Value& call) const { return pickle_.at(call.elements[0]).elements; }

  const Value& argument(const Value& call, std::size_t index) const {
    if (index >= arguments(call).size()) throw wrong("too few arguments", "more");
    return pickle_.at(arguments(call)[index]);
  }

  std::int64_t size_at(const Value& value) const {
    if (value.kind != Kind::kInteger || value.integer < 0) throw wrong("another value", "a size of 0 or more");
    return value.integer;
  }

  std::vector<std::int64_t> sizes_at(const Value& value) const {
    if (value.kind != Kind::kTuple || value.elements.size() > kMostDimensions) {
      throw wrong("another value", fmt::format("at most {} sizes", kMostDimensions));
    }
    std::vector<std::int64_t> sizes;
    for (const Pickle::Place place : value.elements) sizes.push_back(size_at(pickle_.at(place)));
    return sizes;
  }

  // ('storage', its class, its key, where it was, its elements)
  void take_storage(const Value& value, const Value* dtype) {
    const Value* identity = value.kind == Kind::kPersistentId ? &pickle_.at(value.elements[0]) : nullptr;
    if (identity == nullptr || identity->kind != Kind::kTuple || identity->elements.size() != 5 ||
        pickle_.at(identity->elements[0]).text != "storage") {
      throw wrong("no storage", "one");
    }
    const Value &storage = pickle_.at(identity->elements[1]), &key = pickle_.at(identity->elements[2]);
    const auto type = dtype == nullptr                  ? type_of_storage(storage.text)
                      : storage.text == kUntypedStorage ? type_of_dtype(dtype->text)
                                                        : std::nullopt;
    if (!type) throw wrong(std::string((dtype == nullptr ? storage : *dtype).text), "a type that is read");
    if (key.kind != Kind::kString) throw wrong("a storage without a name", "one");
    result_.type = *type;
    result_.storage = key.text;
    result_.storage_elements = static_cast<std::uint64_t>(size_at(pickle_.at(identity->elements[4])));
    if (dtype != nullptr) result_.storage_elements /= data::element_size(*type);
  }

  void check_reach() {
    const auto& [sizes, strides] = std::tie(result_.sizes, result_.strides);
    if (sizes.size() != strides.size())
      throw wrong(fmt::format("{} strides", strides.size()), std::to_string(sizes.size()));
    const auto bytes = data::tensor_size(result_.type, sizes);
    if (!bytes) throw wrong(fmt::format("[{}]", fmt::join(sizes, ", ")), "a shape that fits in memory");
    result_.bytes = *bytes;
    if (*bytes == 0) return;
    std::int64_t last = result_.offset;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t distance = 0;
      if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &distance) ||
          __builtin_add_overflow(last, distance, &last)) {
        throw wrong("strides beyond all storages", "smaller ones");
      }
    }
    // No step is ever taken there, however long it says that one is.
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 1) strides[i] = 0;
    }
    if (static_cast<std::uint64_t>(last) < result_.storage_elements) return;
    throw wrong(fmt::format("an element {} of its storage", last),
                fmt::format("one below {}", result_.storage_elements));
  }

  const Pickle& pickle_;
  TorchTensor result_;
};

bool lies_plain(const TorchTensor& tensor) {
  std::int64_t stride = 1;
  for (std::size_t i = tensor.sizes.size(); i-- > 0;) {
    if (tensor.sizes[i] != 1 && tensor.strides[i] != stride) return false;
    stride *= tensor.sizes[i];
  }
  return true;
}

// A constant size makes one move of each copy.
template <std::size_t kSize>
void gather(const TorchTensor& tensor, const std::byte* storage, std::byte* out) {
  const std::size_t last = tensor.sizes.size() - 1;
  std::vector<std::int64_t> index(last, 0);
  std::int64_t row = tensor.offset;
  for (const std::byte* const end = out + tensor.bytes; out != end;) {
    for (std::int64_t i = 0; i < tensor.sizes[last]; ++i, out += kSize) {
      std::memcpy(out, storage + static_cast<std::size_t>(row + i * tensor.strides[last]) * kSize, kSize);
    }
    for (std::size_t d = last; d-- > 0;) {
      row += tensor.strides[d];
      if (++index[d] < tensor.sizes[d]) break;
      row -= tensor.strides[d] * tensor.sizes[d];
      index[d] = 0;
    }
  }
}

void gather(const TorchTensor& tensor, const std::byte* storage, std::byte* out) {
  switch (data::element_size(tensor.type)) {
    case 1:
      return gather<1>(tensor, storage, out);
    case 2:
      return gather<2>(tensor, storage, out);
    case 4:
      return gather<4>(tensor, storage, out);
    default:
      return gather<8>(tensor, storage, out);
  }
}

}  // namespace

bool is_tensor(const Value& value) {
  return value.kind == Kind::kCall &&
         (value.text == kRebuildTensor || value.text == kRebuildTypedTensor || value.text == kRebuildParameter);
}

TorchTensor describe_tensor(const Pickle& pickle, const Value& value, std::string name) {
  return Description(pickle, std::move(name)).run(value);
}

void require_storage(const TorchTensor& tensor, std::span<const std::byte> storage, const std::string& file) {
  const std::size_t elements = storage.size() / data::element_size(tensor.type);
  if (elements == tensor.storage_elements) return;
  throw wrong(file, tensor.name, fmt::format("a storage of {} elements", tensor.storage_elements),
              std::to_string(elements));
}

data::TensorFile plain_tensor(const TorchTensor& tensor, std::span<const std::byte> storage,
                              const std::shared_ptr<const void>& owner, const std::string& file) {
  require_storage(tensor, storage, file);
  const std::size_t size = data::element_size(tensor.type);
  data::TensorFile result{.tensor = {.name = tensor.name, .type = tensor.type, .shape = tensor.sizes, .bytes = {}},
                          .owner = owner};
  if (tensor.bytes == 0) return result;
  if (lies_plain(tensor)) {
    result.tensor.bytes = storage.subspan(static_cast<std::size_t>(tensor.offset) * size, tensor.bytes);
    return result;
  }
  const auto copy = std::make_shared<std::vector<std::byte>>(tensor.bytes);
  gather(tensor, storage.data(), copy->data());
  result.tensor.bytes = *copy;
  result.owner = copy;
  return result;
}

}  // namespace lockstep::checkpoint
