#include "packed_view.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <lockstep/base/text.h>

namespace lockstep::data {
namespace {

// More classes than any data set has; their names are copied.
constexpr std::uint64_t kMostClasses = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 40;

std::string hex(std::uint32_t number) {
  return fmt::format("{:08x}", number);
}

std::uint64_t position_at(std::span<const std::byte> table, std::uint64_t index) {
  std::uint64_t position = 0;
  std::memcpy(&position, table.data() + index * sizeof(position), sizeof(position));
  return position;
}

// A text of a string table that is known to have room for its positions; nothing when they make no sense.
std::optional<std::string_view> text_at(std::span<const std::byte> table, std::uint64_t count, std::uint64_t index) {
  const auto text = table.subspan((count + 1) * sizeof(std::uint64_t));
  const std::uint64_t begin = position_at(table, index), end = position_at(table, index + 1);
  if (begin > end || end > text.size()) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(text.data()) + begin, end - begin);
}

}  // namespace

PackedView::PackedView(std::span<const std::byte> file, std::string path) : file_(file), path_(std::move(path)) {
  read_header();
  check_sections();
  check_checksum(header_.index, "its index");
  check_checksum(header_.class_names, "its list of classes");
  for (std::uint64_t i = 0; i < header_.classes; ++i) {
    const auto name = text_at(bytes_of(header_.class_names), header_.classes, i);
    if (!name) throw damaged("its list of classes makes no sense", fmt::format("class {}", i));
    classes_.emplace_back(*name);
  }
  check_index();
}

PackedError PackedView::damaged(const std::string& what, std::string found, std::string expected) const {
  return PackedError(
      {.message = fmt::format("the packed file '{}' cannot be used: {}", path_, what),
       .found = std::move(found),
       .expected = std::move(expected),
       .next = fmt::format("lockstep data verify '{}'; then pack again, or bring the file again", path_)});
}

void PackedView::read_header() {
  if (file_.size() < kPackedPage) {
    throw damaged("it is too short to be one", format_bytes(file_.size()), "at least " + format_bytes(kPackedPage));
  }
  std::memcpy(&header_, file_.data(), sizeof(header_));
  if (header_.magic != kPackedMagic) throw damaged("it does not begin as one");
  if (header_.version != kPackedVersion) {
    throw damaged("its version is another", std::to_string(header_.version), std::to_string(kPackedVersion));
  }
  PackedHeaderPage page{};
  std::memcpy(page.data(), file_.data(), page.size());
  std::memset(page.data() + offsetof(PackedHeader, checksum), 0, sizeof(header_.checksum));
  if (const std::uint32_t found = crc32c(page); found != header_.checksum) {
    throw damaged("its header is damaged", "checksum " + hex(found), hex(header_.checksum));
  }
  if (header_.complete != 1) throw damaged("it is not complete");
  if (header_.file_bytes != file_.size()) {
    throw damaged(header_.file_bytes > file_.size() ? "it is truncated" : "it is longer than it should be",
                  fmt::format("{} bytes", file_.size()), fmt::format("{} bytes", header_.file_bytes));
  }
}

void PackedView::check_sections() const {
  if (header_.samples > kMostSamples) throw damaged("it claims too many samples", std::to_string(header_.samples));
  if (header_.classes > kMostClasses) throw damaged("it claims too many classes", std::to_string(header_.classes));
  std::uint64_t end = kPackedPage;
  for (const auto* section : {&header_.data, &header_.index, &header_.class_names, &header_.sample_names}) {
    if (section->offset != next_page(end) || section->offset > file_.size() ||
        section->bytes > file_.size() - section->offset) {
      throw damaged("its parts do not follow one another",
                    fmt::format("{} bytes at {}", section->bytes, section->offset),
                    fmt::format("at {}, inside {} bytes", next_page(end), file_.size()));
    }
    end = section->end();
  }
  const auto positions = [](std::uint64_t texts) { return (texts + 1) * sizeof(std::uint64_t); };
  if (end != file_.size() || header_.index.bytes != header_.samples * sizeof(PackedEntry) ||
      header_.class_names.bytes < positions(header_.classes) ||
      header_.sample_names.bytes < positions(header_.samples)) {
    throw damaged("its parts have sizes that make no sense");
  }
}

void PackedView::check_checksum(const PackedSection& section, const std::string& what) const {
  if (const std::uint32_t found = crc32c(bytes_of(section)); found != section.checksum) {
    throw damaged(what + " is damaged", "checksum " + hex(found), hex(section.checksum));
  }
}

void PackedView::check_index() const {
  std::uint64_t end = header_.data.offset;
  for (std::uint64_t i = 0; i < header_.samples; ++i) {
    const PackedEntry sample = entry(i);
    if (sample.offset != end || sample.label >= header_.classes || !pixels_fit(sample)) {
      throw damaged("its index makes no sense",
                    fmt::format("sample {}: {} bytes at {}, label {}, form {}, {} x {} x {}", i, sample.bytes,
                                sample.offset, sample.label, sample.form, sample.width, sample.height, sample.channels),
                    fmt::format("at {}, label below {}", end, header_.classes));
    }
    end = sample.end();
  }
  if (end != header_.data.end()) {
    throw damaged("its index does not fit its data", std::to_string(end), std::to_string(header_.data.end()));
  }
}

PackedEntry PackedView::checked_entry(std::int64_t index) const {
  const auto at = static_cast<std::uint64_t>(index);
  if (at >= header_.samples) {
    throw UsageError({.message = fmt::format("'{}' has no sample {}", path_, index),
                      .expected = fmt::format("0 to {}", size() - 1)});
  }
  const PackedEntry sample = entry(at);
  if (sample.offset < header_.data.offset || sample.offset > header_.data.end() ||
      sample.bytes > header_.data.end() - sample.offset || !pixels_fit(sample)) {
    throw bad_sample(index, fmt::format("{} bytes at {}", sample.bytes, sample.offset), "a place inside the data");
  }
  return sample;
}

SampleError PackedView::bad_sample(std::int64_t index, std::string found, std::string expected) const {
  return SampleError({.message = fmt::format("sample {} of '{}', {}, is damaged", index, path_, name(index)),
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .next = fmt::format("lockstep data verify '{}'", path_)});
}

std::span<const std::byte> PackedView::place(std::int64_t index) const {
  const PackedEntry sample = checked_entry(index);
  return file_.subspan(sample.offset, sample.bytes);
}

Picture PackedView::get(std::int64_t index) const {
  const PackedEntry sample = checked_entry(index);
  const auto bytes = file_.subspan(sample.offset, sample.bytes);
  if (const std::uint32_t found = crc32c(bytes); found != sample.checksum) {
    throw bad_sample(index, "checksum " + hex(found), hex(sample.checksum));
  }
  return {.form = sample.form == kPackedPixels ? Picture::Form::kPixels : Picture::Form::kEncoded,
          .bytes = bytes,
          .owner = nullptr,
          .width = static_cast<int>(sample.width),
          .height = static_cast<int>(sample.height),
          .channels = sample.channels,
          .label = sample.label};
}

std::string PackedView::name(std::int64_t index) const {
  const auto at = static_cast<std::uint64_t>(index);
  if (at < header_.samples && names_are_good()) {
    if (const auto name = text_at(bytes_of(header_.sample_names), header_.samples, at)) return escape_controls(*name);
  }
  return fmt::format("sample {}", index);
}

bool PackedView::names_are_good() const {
  std::call_once(names_checked_,
                 [this] { names_good_ = crc32c(bytes_of(header_.sample_names)) == header_.sample_names.checksum; });
  return names_good_;
}

void PackedView::check_rest() const {
  check_checksum(header_.sample_names, "its list of names");
  for (std::uint64_t i = 0; i < header_.samples; ++i) {
    if (!text_at(bytes_of(header_.sample_names), header_.samples, i)) {
      throw damaged("its list of names makes no sense", fmt::format("sample {}", i));
    }
  }
  std::uint64_t end = header_.data.end();
  for (const auto* section : {&header_.index, &header_.class_names, &header_.sample_names}) {
    const auto gap = file_.subspan(end, section->offset - end);
    if (std::any_of(gap.begin(), gap.end(), [](std::byte byte) { return byte != std::byte{0}; })) {
      throw damaged("the space between its parts is not empty", fmt::format("after {} bytes", end));
    }
    end = section->end();
  }
}

std::span<const std::byte> PackedView::bytes_of(const PackedSection& section) const {
  return file_.subspan(section.offset, section.bytes);
}

PackedEntry PackedView::entry(std::uint64_t index) const {
  PackedEntry sample;
  std::memcpy(&sample, file_.data() + header_.index.offset + index * sizeof(sample), sizeof(sample));
  return sample;
}

}  // namespace lockstep::data
