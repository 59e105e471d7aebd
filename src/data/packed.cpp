#include <lockstep/data/packed.h>

#include <sys/mman.h>

#include <fmt/format.h>

#include <lockstep/base/mapped_file.h>

#include "packed_view.h"

namespace lockstep::data {
namespace {

// A hint; whether the kernel takes it does not matter.
void advise(std::span<const std::byte> bytes, int advice) {
  const auto before = reinterpret_cast<std::uintptr_t>(bytes.data()) % kPackedPage;
  ::madvise(const_cast<std::byte*>(bytes.data() - before), bytes.size() + before, advice);
}

}  // namespace

struct PackedSet::Mapping {
  explicit Mapping(const std::filesystem::path& path) : file(map_file(path)) {
    if (file.bytes.empty()) throw PackedError("the packed file '" + path.string() + "' is empty");
  }
  MappedFile file;
};

PackedSet::PackedSet(const std::filesystem::path& path)
    : mapping_(std::make_unique<const Mapping>(path)),
      view_(std::make_unique<const PackedView>(mapping_->file.bytes, path.string())) {
  // Samples are asked for in any order, so what lies round a large one is not worth reading with it; round a small one
  // lie many others, which will be asked for too.
  constexpr std::uint64_t kLarge = 16'384;
  large_samples_ = view_->header().data.bytes / kLarge >= view_->header().samples;
  if (large_samples_) advise(mapping_->file.bytes, MADV_RANDOM);
}

PackedSet::~PackedSet() = default;

std::int64_t PackedSet::size() const {
  return view_->size();
}

Picture PackedSet::get(std::int64_t index) const {
  if (const std::size_t now = size_now(mapping_->file); now < mapping_->file.bytes.size()) {
    throw view_->damaged("it has become shorter while it was in use", fmt::format("{} bytes", now),
                         fmt::format("{} bytes", mapping_->file.bytes.size()));
  }
  // All of the sample in one request, and not page by page as the decoder comes to them.
  if (large_samples_) advise(view_->place(index), MADV_WILLNEED);
  return view_->get(index);
}

std::string PackedSet::name(std::int64_t index) const {
  return view_->name(index);
}

const std::vector<std::string>& PackedSet::classes() const {
  return view_->classes();
}

std::string PackedSet::source() const {
  return fmt::format("{:02x}", fmt::join(view_->header().source, ""));
}

std::uint64_t PackedSet::bytes() const {
  return mapping_->file.bytes.size();
}

void PackedSet::check_rest() const {
  view_->check_rest();
}

}  // namespace lockstep::data
