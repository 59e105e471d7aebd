#include <lockstep/data/packed_writer.h>

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include <lockstep/base/fd.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>

#include "packed_format.h"
#include "packed_journal.h"
#include "packed_partial.h"
#include "string_table.h"

namespace lockstep::data {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

PackedJournal::Source parse_digest(const std::string& text) {
  PackedJournal::Source source{};
  bool good = text.size() == 2 * source.size();
  for (std::size_t i = 0; good && i < source.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    good = std::from_chars(digits, digits + 2, source[i], 16).ptr == digits + 2;
  }
  if (!good) throw UsageError({.message = "the source of a packed file is no SHA-256", .found = text});
  return source;
}

template <typename T>
std::string_view text_of(const T& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::filesystem::path with_suffix(std::filesystem::path path, const char* suffix) {
  path += suffix;
  return path;
}

// Throws UsageError for what a reader would refuse, and the whole file with it.
PackedEntry entry_of(const Picture& picture, std::uint64_t offset, std::string_view name) {
  if (picture.bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError({.message = fmt::format("'{}' is too large for a packed file", name),
                      .found = format_bytes(picture.bytes.size()),
                      .expected = "less than 4 GiB"});
  }
  PackedEntry entry{.offset = offset,
                    .bytes = static_cast<std::uint32_t>(picture.bytes.size()),
                    .checksum = crc32c(picture.bytes),
                    .label = static_cast<std::uint32_t>(picture.label)};
  if (picture.form == Picture::Form::kEncoded) return entry;
  entry.form = kPackedPixels;
  entry.width = static_cast<std::uint32_t>(picture.width);
  entry.height = static_cast<std::uint32_t>(picture.height);
  entry.channels = static_cast<std::uint8_t>(picture.channels);
  if (entry.channels != picture.channels || !pixels_fit(entry)) {
    throw UsageError({.message = fmt::format("the pixels of '{}' do not fit their size", name),
                      .found = fmt::format("{} x {} x {} in {} bytes", picture.width, picture.height, picture.channels,
                                           picture.bytes.size()),
                      .expected = "a byte for each of 1 or 3 channels"});
  }
  return entry;
}

}  // namespace

// The partial file and its journal; all that is written goes through it.
class PackedWriter::File {
 public:
  File(std::filesystem::path target, std::vector<std::string> classes, const std::string& source,
       const PackedWriterOptions& options)
      : target_(std::move(target)),
        partial_(with_suffix(target_, ".partial")),
        journal_path_(with_suffix(target_, ".partial.journal")),
        options_(options),
        classes_(std::move(classes)),
        source_(parse_digest(source)),
        fd_(take_partial(partial_, target_, options.replace)),
        journal_(open_journal()) {
    cut(end_);
    if (::lseek(fd_.get(), static_cast<off_t>(end_), SEEK_SET) < 0) {
      throw system_error("cannot move in '" + partial_.string() + "'", errno);
    }
    sync_folder();
  }

  void add(const PackedJournal::Record& record, std::span<const std::byte> bytes) {
    begin_change();
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    journal_.add(record);
    take(record);
    uncommitted_ += bytes.size();
    if (buffer_.size() >= kBufferBytes) flush();
    if (uncommitted_ >= options_.commit_bytes) commit();
    usable_ = true;
  }

  void finish() {
    if (entries_.empty()) {
      throw UsageError({.message = fmt::format("there is no picture to put into '{}'", target_.string())});
    }
    begin_change();
    commit();
    PackedHeader header = plain_header();
    header.complete = 1;
    header.samples = entries_.size();
    header.classes = classes_.size();
    header.data = {.offset = kPackedPage, .bytes = end_ - kPackedPage};
    StringTable class_names;
    for (const std::string& name : classes_) class_names.add(name);
    header.index = append({text_of(entries_)});
    header.class_names = append({text_of(class_names.positions()), class_names.text()});
    header.sample_names = append({text_of(names_.positions()), names_.text()});
    header.file_bytes = header.sample_names.end();
    sync();
    write_header(header);
    sync();
    if (::rename(partial_.c_str(), target_.c_str()) != 0) {
      throw system_error("cannot rename to '" + target_.string() + "'", errno);
    }
    sync_folder();
    ::unlink(journal_path_.c_str());
  }

  std::uint64_t end() const { return end_; }
  std::int64_t position() const { return size() + std::ssize(left_out_); }
  std::int64_t size() const { return std::ssize(entries_); }
  std::size_t classes() const { return classes_.size(); }
  const std::vector<LeftOut>& left_out() const { return left_out_; }

 private:
  // After a write that failed nobody knows what is on the disk, and to write it again would put it there twice. A
  // finished file is not ours any more.
  void begin_change() {
    if (!usable_) {
      throw UsageError({.message = fmt::format("the writer of '{}' has failed, or is finished", target_.string()),
                        .next = "make another one: it goes on with what is on the disk"});
    }
    usable_ = false;
  }

  PackedJournal open_journal() {
    const off_t there = ::lseek(fd_.get(), 0, SEEK_END);
    if (there < static_cast<off_t>(kPackedPage) || !std::filesystem::exists(journal_path_)) {
      PackedJournal journal = PackedJournal::begin(journal_path_, source_);
      cut(0);
      write_header(plain_header());
      return journal;
    }
    return PackedJournal::resume(journal_path_, source_, [&](PackedJournal::Record&& record) {
      const bool sample = record.reason.empty();
      // What a crash of the machine lost is made again.
      if (sample && (record.entry.offset != end_ || record.entry.end() > static_cast<std::uint64_t>(there)))
        return false;
      take(record);
      return true;
    });
  }

  void take(const PackedJournal::Record& record) {
    if (!record.reason.empty()) {
      left_out_.push_back({.name = record.name, .reason = record.reason});
      return;
    }
    entries_.push_back(record.entry);
    names_.add(record.name);
    end_ = record.entry.end();
  }

  PackedHeader plain_header() const {
    PackedHeader header;
    header.source = source_;
    return header;
  }

  void write_header(const PackedHeader& header) const {
    const PackedHeaderPage page = header_page(header);
    const ssize_t count = ::pwrite(fd_.get(), page.data(), page.size(), 0);
    if (count != static_cast<ssize_t>(page.size())) throw cannot_write(count < 0 ? errno : ENOSPC);
  }

  // A part of the file behind what is there, on a page of its own.
  PackedSection append(const std::vector<std::string_view>& pieces) {
    const std::uint64_t offset = next_page(written_end_);
    buffer_.assign(offset - written_end_, '\0');
    flush();
    PackedSection section{.offset = offset};
    for (const std::string_view piece : pieces) {
      write(piece);
      section.bytes += piece.size();
      section.checksum = crc32c(std::as_bytes(std::span(piece)), section.checksum);
    }
    return section;
  }

  void flush() {
    write(buffer_);
    buffer_.clear();
  }

  void write(std::string_view content) {
    if (const int error = files::write_all(fd_.get(), content)) throw cannot_write(error);
    written_end_ += content.size();
  }

  // The samples first, then the journal that tells of them.
  void commit() {
    flush();
    sync();
    if (const int error = journal_.commit()) throw cannot_write(error);
    uncommitted_ = 0;
  }

  void sync() const {
    if (::fsync(fd_.get()) != 0) throw cannot_write(errno);
  }

  void sync_folder() const { files::sync_folder(target_.has_parent_path() ? target_.parent_path() : "."); }

  void cut(std::uint64_t end) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(end)) != 0) throw cannot_write(errno);
    written_end_ = end;
  }

  RuntimeError cannot_write(int error_number) const {
    const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
    return RuntimeError(
        {.message =
             fmt::format("{} '{}' after {}: {}", full ? "there is no room for" : "cannot write", target_.string(),
                         format_plural(size(), "picture"), std::generic_category().message(error_number)),
         .next = fmt::format("make room and give the same command again: it goes on with '{}'", partial_.string())});
  }

  const std::filesystem::path target_, partial_, journal_path_;
  const PackedWriterOptions options_;
  const std::vector<std::string> classes_;
  const PackedJournal::Source source_;
  std::vector<PackedEntry> entries_;
  StringTable names_;
  std::vector<LeftOut> left_out_;
  std::uint64_t end_ = kPackedPage;  // of the samples, those in the buffer too
  std::uint64_t written_end_ = 0;    // of the file
  std::uint64_t uncommitted_ = 0;
  bool usable_ = true;
  std::string buffer_;
  UniqueFd fd_;
  PackedJournal journal_;
};

PackedWriter::PackedWriter(std::filesystem::path target, std::vector<std::string> classes, const std::string& source,
                           const PackedWriterOptions& options)
    : file_(std::make_unique<File>(std::move(target), std::move(classes), source, options)) {}

PackedWriter::~PackedWriter() = default;

std::int64_t PackedWriter::position() const {
  return file_->position();
}

void PackedWriter::add(const Picture& picture, std::string_view name) {
  if (picture.label < 0 || static_cast<std::size_t>(picture.label) >= file_->classes()) {
    throw UsageError({.message = fmt::format("the label of '{}' is no class", name),
                      .found = std::to_string(picture.label),
                      .expected = fmt::format("0 to {}", file_->classes() - 1)});
  }
  file_->add({.entry = entry_of(picture, file_->end(), name), .name = std::string(name), .reason = ""}, picture.bytes);
}

void PackedWriter::leave_out(std::string_view name, std::string_view reason) {
  file_->add({.entry = {}, .name = std::string(name), .reason = std::string(reason.empty() ? "bad" : reason)}, {});
}

std::int64_t PackedWriter::size() const {
  return file_->size();
}

std::uint64_t PackedWriter::bytes() const {
  return file_->end() - kPackedPage;
}

const std::vector<LeftOut>& PackedWriter::left_out() const {
  return file_->left_out();
}

void PackedWriter::finish() {
  file_->finish();
}

}  // namespace lockstep::data
