#include <algorithm>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/torch_file.h>

#include "little_endian.h"
#include "tensor_checks.h"
#include "torch_names.h"
#include "zip_writer.h"

namespace lockstep::checkpoint {
namespace {

using data::TensorBytes;

// The instructions of a pickle of protocol 2 that make a value.
std::string pickled(std::string_view text) {
  return 'X' + little_endian(text.size(), 4) + std::string(text);
}

std::string pickled(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
  return value < kMost ? 'J' + little_endian(value, 4) : "\x8a\x08" + little_endian(value, 8);
}

std::string pickled_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return fmt::format("c{}\n{}\n", name.substr(0, dot), name.substr(dot + 1));
}

std::string pickled_tuple(const std::string& elements) {
  return '(' + elements + 't';
}

std::string empty_ordered_dict() {
  return pickled_name("collections.OrderedDict") + ")R";
}

std::string pickled_tensor(const TensorBytes& tensor, std::size_t storage) {
  const std::string_view typed_storage = storage_name(tensor.type);
  const std::size_t element = data::element_size(tensor.type);
  const std::uint64_t elements = tensor.bytes.size() / (typed_storage.empty() ? 1 : element);
  const std::string identity = pickled_tuple(
      pickled(std::string_view("storage")) + pickled_name(typed_storage.empty() ? kUntypedStorage : typed_storage) +
      pickled(std::to_string(storage)) + pickled(std::string_view("cpu")) + pickled(elements));
  std::string sizes, strides;
  std::uint64_t stride = 1;
  for (const std::int64_t size : tensor.shape) sizes += pickled(static_cast<std::uint64_t>(size));
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    strides.insert(0, pickled(stride));
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(tensor.shape[i], 1));
  }
  constexpr char kFalse = '\x89';
  std::string arguments = identity + 'Q' + pickled(std::uint64_t{0}) + pickled_tuple(sizes) + pickled_tuple(strides) +
                          kFalse + empty_ordered_dict();
  if (typed_storage.empty()) arguments += pickled_name(fmt::format("torch.{}", element_name(tensor.type)));
  return pickled_name(typed_storage.empty() ? kRebuildTypedTensor : kRebuildTensor) + pickled_tuple(arguments) + 'R';
}

}  // namespace

void write_torch_file(const std::filesystem::path& path, std::span<const TensorBytes> tensors) {
  check_tensors(tensors, "PyTorch");
  std::string program = "\x80\x02" + empty_ordered_dict() + '(';
  for (std::size_t i = 0; i < tensors.size(); ++i) program += pickled(tensors[i].name) + pickled_tensor(tensors[i], i);
  program += "u.";

  OutputFile file(path);
  ZipWriter archive(file);
  archive.add("archive/data.pkl", program);
  archive.add("archive/byteorder", "little");
  for (std::size_t i = 0; i < tensors.size(); ++i) archive.add(fmt::format("archive/data/{}", i), tensors[i].bytes);
  archive.add("archive/version", "3\n");
  archive.finish();
  file.finish();
}

}  // namespace lockstep::checkpoint
