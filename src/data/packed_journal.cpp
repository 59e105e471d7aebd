#include "packed_journal.h"

#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

namespace lockstep::data {
namespace {

constexpr std::string_view kMagic = "LSPJRNL1";
constexpr std::size_t kHeader = kMagic.size() + std::tuple_size_v<PackedJournal::Source>;
// For ten million samples with long names.
constexpr std::uint64_t kLargest = std::uint64_t{4} << 30;

template <typename Number>
void append(std::string& text, const Number& number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::uint32_t checksum_of(std::string_view text) {
  return crc32c(std::as_bytes(std::span(text)));
}

std::string header_of(const PackedJournal::Source& source) {
  std::string header(kMagic);
  header.append(reinterpret_cast<const char*>(source.data()), source.size());
  return header;
}

// Takes a number from the front of `text`; nothing when it is too short.
template <typename Number>
std::optional<Number> take(std::string_view& text) {
  if (text.size() < sizeof(Number)) return std::nullopt;
  Number number;
  std::memcpy(&number, text.data(), sizeof(number));
  text.remove_prefix(sizeof(number));
  return number;
}

std::optional<PackedJournal::Record> take_record(std::string_view& text) {
  const auto size = take<std::uint32_t>(text), checksum = take<std::uint32_t>(text);
  if (!size || !checksum || *size > text.size()) return std::nullopt;
  std::string_view content = text.substr(0, *size);
  if (checksum_of(content) != *checksum) return std::nullopt;
  text.remove_prefix(*size);
  const auto entry = take<PackedEntry>(content);
  const auto name_size = take<std::uint32_t>(content);
  if (!entry || !name_size || *name_size > content.size()) return std::nullopt;
  return PackedJournal::Record{.entry = *entry,
                               .name = std::string(content.substr(0, *name_size)),
                               .reason = std::string(content.substr(*name_size))};
}

UniqueFd open_for_writing(const std::filesystem::path& path, int flags) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | flags, 0644));
  if (!fd) throw system_error("cannot write '" + path.string() + "'", errno);
  return fd;
}

}  // namespace

PackedJournal PackedJournal::begin(const std::filesystem::path& path, const Source& source) {
  PackedJournal journal(open_for_writing(path, O_CREAT | O_TRUNC));
  journal.pending_ = header_of(source);
  if (const int error = journal.commit()) throw system_error("cannot write '" + path.string() + "'", error);
  return journal;
}

PackedJournal PackedJournal::resume(const std::filesystem::path& path, const Source& source,
                                    const std::function<bool(Record&&)>& use) {
  const std::string content = files::read(path, kLargest);
  if (content.size() < kHeader || !content.starts_with(kMagic)) return begin(path, source);
  if (!content.starts_with(header_of(source))) {
    throw UsageError({.message = fmt::format("'{}' was begun from other pictures or with other options", path.string()),
                      .next = "give the same ones to go on with it, or remove it and the .partial file beside it"});
  }
  std::string_view rest = std::string_view(content).substr(kHeader);
  std::string_view good = rest;
  while (auto record = take_record(rest)) {
    if (!use(std::move(*record))) break;
    good = rest;
  }
  PackedJournal journal(open_for_writing(path, O_APPEND));
  if (::ftruncate(journal.fd_.get(), static_cast<off_t>(content.size() - good.size())) != 0) {
    throw system_error("cannot shorten '" + path.string() + "'", errno);
  }
  return journal;
}

void PackedJournal::add(const Record& record) {
  std::string content;
  append(content, record.entry);
  append(content, static_cast<std::uint32_t>(record.name.size()));
  content += record.name;
  content += record.reason;
  append(pending_, static_cast<std::uint32_t>(content.size()));
  append(pending_, checksum_of(content));
  pending_ += content;
}

int PackedJournal::commit() {
  if (const int error = files::write_all(fd_.get(), pending_)) return error;
  if (::fdatasync(fd_.get()) != 0) return errno;
  pending_.clear();
  return 0;
}

}  // namespace lockstep::data
