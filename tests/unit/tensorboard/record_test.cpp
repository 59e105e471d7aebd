#include "tensorboard/record.h"

#include <gmock/gmock.h>

namespace lockstep::tensorboard {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string two_records() {
  std::string file;
  append_record(file, "one");
  append_record(file, "");
  return file;
}

TEST(Record, HasTheFrameOfTensorFlow) {
  // What the RecordWriter of tensorboardX writes for b"one".
  std::string file;
  append_record(file, "one");
  const std::string expected("\x03\0\0\0\0\0\0\0\xb0\x99I\x0eone\x01@U\x08", 19);
  EXPECT_EQ(file, expected);
}

TEST(RecordReader, GivesWhatWasAppended) {
  const std::string file = two_records();
  RecordReader reader(bytes_of(file));
  EXPECT_EQ(reader.next(), "one");
  EXPECT_EQ(reader.next(), "");
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.offset(), file.size());
  EXPECT_EQ(reader.problem(), "");
}

TEST(RecordReader, OfAFileCutAnywhere_GivesTheWholeOnesAndSaysSo) {
  const std::string file = two_records();
  const std::size_t first = kRecordHeader + 3 + kRecordFooter;
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string cut = file.substr(0, size);
    RecordReader reader(bytes_of(cut));
    std::size_t whole = 0;
    while (reader.next()) ++whole;
    EXPECT_EQ(whole, size >= first ? 1U : 0U) << size;
    EXPECT_EQ(reader.problem().empty(), size == 0 || size == first) << size;
  }
}

TEST(RecordReader, FindsEveryFlippedBit) {
  for (std::size_t bit = 0; bit < 8 * two_records().size(); ++bit) {
    std::string file = two_records();
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ 1 << bit % 8);
    RecordReader reader(bytes_of(file));
    while (reader.next()) {
    }
    EXPECT_NE(reader.problem(), "") << bit;
  }
}

TEST(RecordReader, RefusesARecordBeyondItsLimit) {
  const std::string file = two_records();
  RecordReader reader(bytes_of(file), 2);
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_THAT(reader.problem(), ::testing::HasSubstr("above the limit of 2"));
}

}  // namespace
}  // namespace lockstep::tensorboard
