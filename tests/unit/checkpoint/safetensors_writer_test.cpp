
#include <gmock/gmock.h>

#include <lockstep/base/crc32c.h>
#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/safetensors_writer.h>

#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::checkpoint {
namespace {

using data::ElementType;
using data::TensorBytes;
using test::ThrowsWith;

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<TensorBytes> three() {
  return {{.name = "b\"", .type = ElementType::kUint8, .shape = {3}, .bytes = bytes("xyz")},
          {.name = "z", .type = ElementType::kFloat32, .shape = {1, 2}, .bytes = bytes("01234567")},
          {.name = "a", .type = ElementType::kBfloat16, .shape = {}, .bytes = bytes("hi")}};
}

// 197 bytes of JSON and three spaces: 0xc8.
const std::string kHeader = std::string("\xc8\0\0\0\0\0\0\0", 8) +
                            R"({"__metadata__":{"format":"pt"},)"
                            R"("z":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                            R"("a":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},)"
                            R"("b\"":{"dtype":"U8","shape":[3],"data_offsets":[10,13]}}   )";

TEST(SafetensorsWriter, WritesTheFormatByteByByte) {
  const test::TemporaryFolder folder;
  const FileRecord record = write_safetensors(folder.path() / "a.safetensors", three(), {{"format", "pt"}});
  const std::string expected = kHeader + "01234567hixyz";
  EXPECT_EQ(test::content(folder.path() / "a.safetensors"), expected);
  EXPECT_EQ(record, (FileRecord{.name = "a.safetensors",
                                .header_bytes = 208,
                                .header_checksum = crc32c(bytes(kHeader)),
                                .tensors = {{"z", 8, crc32c(bytes("01234567"))},
                                            {"a", 2, crc32c(bytes("hi"))},
                                            {"b\"", 3, crc32c(bytes("xyz"))}}}));
  EXPECT_EQ(record.bytes(), expected.size());
}

TEST(SafetensorsWriter, OurReaderReadsEveryType) {
  const test::TemporaryFolder folder;
  const std::string content(64, 'q');
  std::vector<TensorBytes> tensors;
  for (int i = 0; i <= static_cast<int>(ElementType::kComplex64); ++i) {
    const auto type = static_cast<ElementType>(i);
    tensors.push_back({.name = std::string(element_name(type)),
                       .type = type,
                       .shape = {2, 3},
                       .bytes = bytes(content).first(6 * element_size(type))});
  }
  tensors.push_back({.name = "empty", .type = ElementType::kInt64, .shape = {0, 7}, .bytes = {}});
  const FileRecord record = write_safetensors(folder.path() / "a", tensors);
  const data::SafetensorsFile read(folder.path() / "a");
  EXPECT_EQ(read.header().size(), record.header_bytes);
  EXPECT_EQ(crc32c(read.header()), record.header_checksum);
  ASSERT_EQ(read.tensors().size(), tensors.size());
  for (const TensorBytes& tensor : tensors) {
    const TensorBytes& found = read.at(tensor.name);
    EXPECT_EQ(found.type, tensor.type);
    EXPECT_EQ(found.shape, tensor.shape);
    EXPECT_EQ(text(found.bytes), text(tensor.bytes));
    // Where a program may look at it without a copy.
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(found.bytes.data()) % element_size(tensor.type), 0);
  }
}

TEST(SafetensorsWriter, WithoutTensorsIsAFileToo) {
  const test::TemporaryFolder folder;
  write_safetensors(folder.path() / "a", {});
  EXPECT_EQ(test::content(folder.path() / "a"), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(data::SafetensorsFile(folder.path() / "a").tensors().empty());
}

TEST(SafetensorsWriter, RefusesWhatTheFormatCannotHold) {
  const test::TemporaryFolder folder;
  const auto writing = [&](const std::vector<TensorBytes>& tensors) {
    return [=, &folder] { write_safetensors(folder.path() / "a", tensors); };
  };
  const TensorBytes good{.name = "a", .type = ElementType::kUint8, .shape = {3}, .bytes = bytes("xyz")};
  TensorBytes wrong = good;
  wrong.shape = {4};
  EXPECT_THAT(writing({wrong}), ThrowsWith<UsageError>("3 bytes for uint8 [4]"));
  EXPECT_THAT(writing({good, good}), ThrowsWith<UsageError>("two tensors 'a'"));
  wrong = good;
  wrong.name = "__metadata__";
  EXPECT_THAT(writing({wrong}), ThrowsWith<UsageError>("another name"));
  wrong.name = "\xff";
  EXPECT_THAT(writing({wrong}), ThrowsWith<UsageError>("not UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a"));
}

TEST(SafetensorsWriter, OverwritesNothing) {
  const test::TemporaryFolder folder;
  folder.write("a", "mine");
  EXPECT_THAT([&] { write_safetensors(folder.path() / "a", three()); }, ThrowsWith<RuntimeError>("File exists"));
  EXPECT_EQ(test::content(folder.path() / "a"), "mine");
}

TEST(SafetensorsWriter, AMissingFolderIsNamed) {
  EXPECT_THAT([] { write_safetensors("/nowhere/a", three()); }, ThrowsWith<RuntimeError>("check the folder"));
}

}  // namespace
}  // namespace lockstep::checkpoint
