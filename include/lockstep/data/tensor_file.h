// Tensors in files: what they are and where their bytes lie. The files are memory mapped, so that opening costs nothing
// and processes of a machine share one copy. Nothing in them is trusted. All functions may be called from many threads
// at once.
//
// A file must not be made shorter while it is open: reading a page that is gone ends the process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/data/element_type.h>

namespace lockstep::data {

struct TensorBytes {
  std::string name;  // empty when its file holds only one
  ElementType type = ElementType::kFloat32;
  std::vector<std::int64_t> shape;   // empty: a scalar
  std::span<const std::byte> bytes;  // little-endian, the last index runs fastest; perhaps not aligned
};

// The bytes that a tensor takes; nothing when a size is negative or the product is beyond 2^62.
std::optional<std::uint64_t> tensor_size(ElementType type, std::span<const std::int64_t> shape);

// One tensor, and what keeps its bytes where they are.
struct TensorFile {
  TensorBytes tensor;
  std::shared_ptr<const void> owner;
};

// A .npy file of version 1 to 3. Throws UsageError that names the file and what is wrong with it: also for arrays of
// Python's objects, of records, of big-endian numbers, and in Fortran's order.
TensorFile open_npy(const std::filesystem::path& path);

// A file of nothing but the elements. Throws UsageError when it does not have exactly the size that they take.
TensorFile open_raw_tensor(const std::filesystem::path& path, ElementType type, std::vector<std::int64_t> shape);

// A safetensors file, as the format's reference reads it: a header of at most 100 MB, no name twice, and tensors that
// fill the rest of the file without gaps and without overlap.
class SafetensorsFile {
 public:
  // Throws UsageError that names the file and what is wrong with it.
  explicit SafetensorsFile(const std::filesystem::path& path);

  // The file's length of the header and the header itself: all that is before the tensors.
  std::span<const std::byte> header() const { return header_; }

  // In the order of their bytes.
  const std::vector<TensorBytes>& tensors() const { return tensors_; }

  // Throws UsageError for a name that is not there, with the nearest that is.
  const TensorBytes& at(std::string_view name) const;

  // What its writer said of it.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // Keeps the bytes where they are, for those who outlive this object.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::string path_;
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> header_;
  std::vector<TensorBytes> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace lockstep::data
