#include <lockstep/checkpoint/torch_file.h>

#include <algorithm>
#include <set>

#include <lockstep/base/damaged_file.h>
#include <lockstep/base/mapped_file.h>

#include "torch_state.h"
#include "zip_archive.h"
#include "zip_format.h"

namespace lockstep::checkpoint {
namespace {

constexpr std::string_view kPickle = "/data.pkl";
constexpr const char* kSaveAgain = "in Python: torch.save(torch.load(OLD, weights_only=True), NEW)";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What looks like a file of PyTorch's, but of another kind.
void check_kind(std::span<const std::byte> content, const std::string& file) {
  constexpr std::string_view kLegacy = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8P\x19.";
  if (text_of(content).starts_with(kLegacy)) {
    throw UsageError({.message = fmt::format("'{}' has the format that PyTorch wrote before 1.6", file),
                      .expected = "a ZIP archive",
                      .next = kSaveAgain});
  }
  // One that ends within the signature is truncated, as the archive says.
  constexpr std::string_view kZip = zip::kLocalHeader.signature;
  if (!kZip.starts_with(text_of(content).substr(0, kZip.size())))
    throw damaged_file(file, "is no file of PyTorch's", "", "a ZIP archive");
}

// The folder that all entries are in.
std::string prefix_of(const ZipArchive& archive) {
  std::string prefix;
  for (const auto& [name, entry] : archive.entries()) {
    if (name.find('/') + kPickle.size() != name.size() || !name.ends_with(kPickle)) continue;
    if (!prefix.empty()) {
      throw damaged_file(archive.name(), "has two pickles", fmt::format("{}{} and {}", prefix, kPickle, name), "one");
    }
    prefix = name.substr(0, name.find('/'));
  }
  if (prefix.empty())
    throw damaged_file(archive.name(), "is a ZIP archive, but none of PyTorch's", "", "an entry data.pkl");
  if (archive.find(prefix + "/constants.pkl") != nullptr) {
    throw UsageError({.message = fmt::format("'{}' is a TorchScript program", archive.name()),
                      .expected = "a state dict",
                      .next = "in Python: torch.save(torch.jit.load(OLD).state_dict(), NEW)"});
  }
  archive.require_stored();
  return prefix;
}

// One file of PyTorch's, its pickle read.
class TorchFile {
 public:
  explicit TorchFile(const std::filesystem::path& path)
      : file_(map_file(path)),
        archive_(open(file_.bytes, path.string())),
        prefix_(prefix_of(archive_)),
        pickle_(read_torch_pickle(whole(prefix_ + std::string(kPickle)), archive_.name())) {
    const ZipArchive::Entry* order = archive_.find(prefix_ + "/byteorder");
    if (order != nullptr && text_of(order->bytes) != "little") {
      throw UsageError({.message = fmt::format("'{}' is from a machine with another order of bytes", archive_.name()),
                        .found = std::string(text_of(order->bytes).substr(0, 16)),
                        .expected = "little",
                        .next = kSaveAgain});
    }
  }

  TorchState read(const std::string& key) {
    const TorchDictionary found = find_state(pickle_, key);
    check_sizes(found.tensors);
    TorchState state{.tensors = {}, .key = found.key, .unwrapped = found.unwrapped, .left_out = found.left_out};
    std::set<std::string> seen;
    for (const TorchTensor& tensor : found.tensors) {
      const ZipArchive::Entry& storage = storage_of(tensor);
      if (seen.insert(tensor.storage).second && !archive_.is_whole(storage)) throw damaged(tensor.name);
      state.tensors.push_back(plain_tensor(tensor, storage.bytes, file_.owner, archive_.name()));
    }
    return state;
  }

  bool verify() const {
    const std::vector<TorchTensor> tensors = all_tensors();
    for (const auto& [name, entry] : archive_.entries()) {
      if (archive_.is_whole(entry)) continue;
      const auto found = std::find_if(
          tensors.begin(), tensors.end(),
          [&, &damaged_name = name](const TorchTensor& tensor) { return entry_of(tensor) == damaged_name; });
      throw found == tensors.end() ? damaged_file(archive_.name(), fmt::format("has a damaged entry '{}'", name))
                                   : damaged(found->name);
    }
    for (const TorchTensor& tensor : tensors) require_storage(tensor, storage_of(tensor).bytes, archive_.name());
    return archive_.has_checksums();
  }

 private:
  static ZipArchive open(std::span<const std::byte> content, const std::string& file) {
    check_kind(content, file);
    return {content, file};
  }

  std::span<const std::byte> whole(const std::string& name) const {
    const ZipArchive::Entry* entry = archive_.find(name);
    if (!archive_.is_whole(*entry)) throw damaged_file(archive_.name(), fmt::format("has a damaged entry '{}'", name));
    return entry->bytes;
  }

  UsageError damaged(const std::string& tensor) const {
    return damaged_file(archive_.name(), fmt::format("has a damaged tensor '{}'", tensor));
  }

  // Tensors may share a storage, and an element may be in many places of one, so what a file claims has no limit of its
  // own.
  void check_sizes(std::span<const TorchTensor> tensors) const {
    constexpr std::uint64_t kTimes = 8, kAlways = 1 << 20;
    const std::uint64_t most = kTimes * file_.bytes.size() + kAlways;
    std::uint64_t sum = 0;
    for (const TorchTensor& tensor : tensors) {
      if (tensor.bytes > most - sum) {
        throw damaged_file(archive_.name(), fmt::format("claims far more than it holds, at tensor '{}'", tensor.name),
                           "", fmt::format("at most {} bytes in all", most));
      }
      sum += tensor.bytes;
    }
  }

  std::string entry_of(const TorchTensor& tensor) const { return fmt::format("{}/data/{}", prefix_, tensor.storage); }

  const ZipArchive::Entry& storage_of(const TorchTensor& tensor) const {
    const ZipArchive::Entry* storage = archive_.find(entry_of(tensor));
    if (storage == nullptr) throw damaged_file(archive_.name(), fmt::format("lacks tensor '{}'", tensor.name));
    return *storage;
  }

  // Those of all dictionaries by their keys, then whatever else is a tensor.
  std::vector<TorchTensor> all_tensors() const {
    std::vector<TorchTensor> tensors;
    for (const Pickle::Value& value : pickle_.values()) {
      if (value.kind != Pickle::Kind::kDictionary) continue;
      for (std::size_t i = 0; i + 1 < value.elements.size(); i += 2) {
        const Pickle::Value& tensor = pickle_.at(value.elements[i + 1]);
        if (!is_tensor(tensor)) continue;
        tensors.push_back(describe_tensor(pickle_, tensor, std::string(pickle_.at(value.elements[i]).text)));
      }
    }
    for (const Pickle::Value& value : pickle_.values()) {
      if (is_tensor(value)) tensors.push_back(describe_tensor(pickle_, value, "without a name"));
    }
    return tensors;
  }

  const MappedFile file_;
  const ZipArchive archive_;
  const std::string prefix_;
  const Pickle pickle_;
};

}  // namespace

TorchState read_torch_file(const std::filesystem::path& path, const std::string& key) {
  return TorchFile(path).read(key);
}

bool verify_torch_file(const std::filesystem::path& path) {
  return TorchFile(path).verify();
}

}  // namespace lockstep::checkpoint
