// TFRecord: each record with its length, and a checksum of both.
//
//   8 bytes  length, little-endian
//   4 bytes  masked CRC-32C of the length
//   n bytes  the record
//   4 bytes  masked CRC-32C of the record
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::tensorboard {

inline constexpr std::size_t kRecordHeader = 12, kRecordFooter = 4;

// Appends `record` with its frame to `output`.
void append_record(std::string& output, std::string_view record);

// Takes the records of a file one by one, for as long as they are whole.
class RecordReader {
 public:
  // A longer record is taken for damage: memory is never asked for because a file says so.
  static constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 28;

  // `file` must outlive the reader.
  explicit RecordReader(std::span<const std::byte> file, std::uint64_t limit = kDefaultLimit)
      : file_(file), limit_(limit) {}

  // The next record; nothing at the end, and where the file is not whole any more.
  std::optional<std::string_view> next();

  // Up to here the file is whole.
  std::size_t offset() const { return offset_; }

  // Why there is no next record: empty at the proper end of the file.
  const std::string& problem() const { return problem_; }

 private:
  std::optional<std::string_view> stop(std::string problem);

  std::span<const std::byte> file_;
  std::uint64_t limit_;
  std::size_t offset_ = 0;
  std::string problem_;
};

}  // namespace lockstep::tensorboard
