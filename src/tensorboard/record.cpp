#include "record.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include <lockstep/base/crc32c.h>

namespace lockstep::tensorboard {
namespace {

static_assert(std::endian::native == std::endian::little);

// A checksum of data that holds checksums of itself is a weak one, so TensorFlow turns and shifts it.
std::uint32_t masked_crc32c(std::span<const std::byte> bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8U;
}

template <typename Number>
void append_number(std::string& output, Number number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  output.append(bytes, sizeof(number));
}

template <typename Number>
Number number_at(std::span<const std::byte> bytes) {
  Number number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

}  // namespace

void append_record(std::string& output, std::string_view record) {
  const std::uint64_t length = record.size();
  append_number(output, length);
  append_number(output, masked_crc32c(std::as_bytes(std::span(&length, 1))));
  output += record;
  append_number(output, masked_crc32c(std::as_bytes(std::span(record))));
}

std::optional<std::string_view> RecordReader::next() {
  if (!problem_.empty()) return std::nullopt;
  const std::span<const std::byte> rest = file_.subspan(offset_);
  if (rest.empty()) return std::nullopt;
  if (rest.size() < kRecordHeader) return stop("it ends within a record's length");
  const auto length = number_at<std::uint64_t>(rest);
  if (masked_crc32c(rest.first(8)) != number_at<std::uint32_t>(rest.subspan(8))) {
    return stop("the checksum of a record's length is wrong");
  }
  if (length > limit_) return stop(fmt::format("a record of {} bytes, above the limit of {}", length, limit_));
  if (rest.size() < kRecordHeader + length + kRecordFooter) return stop("it ends within a record");
  const std::span<const std::byte> record = rest.subspan(kRecordHeader, length);
  if (masked_crc32c(record) != number_at<std::uint32_t>(rest.subspan(kRecordHeader + length))) {
    return stop("the checksum of a record is wrong");
  }
  offset_ += kRecordHeader + length + kRecordFooter;
  return std::string_view(reinterpret_cast<const char*>(record.data()), record.size());
}

std::optional<std::string_view> RecordReader::stop(std::string problem) {
  problem_ = std::move(problem);
  return std::nullopt;
}

}  // namespace lockstep::tensorboard
