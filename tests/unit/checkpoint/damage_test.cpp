// Whatever happens to a checkpoint's bytes is found, and said of the part that it happened to.
#include <fstream>
#include <functional>
#include <span>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <lockstep/base/crc32c.h>
#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/checkpoint.h>

#include "small_checkpoint.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::checkpoint {
namespace {

using test::ThrowsWith;

class Damage : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& content) const {
    std::ofstream(checkpoint_ / file, std::ios::binary) << content;
  }
  // Calls `check` with the byte's position while one bit of the file is another; in the end it is as it was.
  void flip_each_bit(const std::string& file, const std::function<void(std::uint64_t)>& check) const {
    const std::string good = test::content(checkpoint_ / file);
    std::fstream stream(checkpoint_ / file, std::ios::binary | std::ios::in | std::ios::out);
    const auto set = [&](std::size_t position, int byte) {
      stream.seekp(static_cast<std::streamoff>(position)).put(static_cast<char>(byte)).flush();
      ASSERT_TRUE(stream.good());
    };
    for (std::size_t bit = 0; bit < 8 * good.size() && !HasFatalFailure(); ++bit) {
      set(bit / 8, good[bit / 8] ^ (1 << (bit % 8)));
      check(bit / 8);
      set(bit / 8, good[bit / 8]);
    }
  }
  auto verifying() const {
    return [this] { verify(checkpoint_); };
  }
  auto opening() const {
    return [this] { Checkpoint{checkpoint_}; };
  }

  const test::TemporaryFolder folder_;
  const std::filesystem::path checkpoint_ = test::write_small(folder_.path() / "checkpoints", 7);
};

// The part that a byte of model.safetensors or training.safetensors belongs to, from what was written.
std::string part_at(const FileRecord& file, std::uint64_t position) {
  if (position < file.header_bytes) return "the header of '";
  position -= file.header_bytes;
  for (const TensorRecord& tensor : file.tensors) {
    if (position < tensor.bytes) return fmt::format("tensor '{}' of '", tensor.name);
    position -= tensor.bytes;
  }
  return "nothing";
}

TEST_F(Damage, EveryFlippedBitIsFoundAndItsTensorNamed) {
  const Manifest manifest = read_manifest(checkpoint_);
  ASSERT_EQ(manifest.files.size(), 2);
  for (const FileRecord& file : manifest.files) {
    ASSERT_EQ(std::filesystem::file_size(checkpoint_ / file.name), file.bytes());
    flip_each_bit(file.name, [&](std::uint64_t position) {
      ASSERT_THAT(verifying(), ThrowsWith<UsageError>(part_at(file, position))) << file.name << " byte " << position;
    });
  }
  flip_each_bit(std::string(kManifestName), [&](std::uint64_t position) {
    ASSERT_THAT(verifying(), ThrowsWith<UsageError>("checkpoint.json' is damaged")) << "byte " << position;
  });
  EXPECT_NO_THROW(verify(checkpoint_));
}

TEST_F(Damage, EveryTruncationIsFound) {
  for (const FileRecord& file : read_manifest(checkpoint_).files) {
    for (std::uint64_t size = file.bytes(); size-- > 0;) {
      std::filesystem::resize_file(checkpoint_ / file.name, size);
      ASSERT_THAT(verifying(), ThrowsWith<UsageError>(file.name + "' is truncated")) << size;
      ASSERT_THAT(opening(), ThrowsWith<UsageError>(file.name + "' is truncated")) << size;
    }
    std::filesystem::remove_all(checkpoint_);
    test::write_small(folder_.path() / "checkpoints", 7);
  }
}

TEST_F(Damage, AppendedBytesAreFound) {
  put("model.safetensors", test::content(checkpoint_ / kModelFile) + "x");
  EXPECT_THAT(verifying(), ThrowsWith<UsageError>("longer than it was written"));
}

TEST_F(Damage, AMissingFileIsNamed) {
  std::filesystem::remove(checkpoint_ / kTrainingFile);
  EXPECT_THAT(opening(), ThrowsWith<UsageError>("training.safetensors' is missing"));
  std::filesystem::create_directory(checkpoint_ / kTrainingFile);
  EXPECT_THAT(verifying(), ThrowsWith<UsageError>("not a regular file"));
  std::filesystem::remove(checkpoint_ / kManifestName);
  EXPECT_THAT(verifying(), ThrowsWith<UsageError>("checkpoint.json'"));
}

TEST_F(Damage, AFlippedTensorIsFoundWhenItIsAskedFor) {
  std::string content = test::content(checkpoint_ / kTrainingFile);
  content.back() ^= 1;
  put("training.safetensors", content);
  const Checkpoint checkpoint(checkpoint_);
  EXPECT_NO_THROW(checkpoint.tensor(kModelFile, "conv.weight"));
  EXPECT_THAT([&] { checkpoint.tensor(kTrainingFile, "momentum"); }, ThrowsWith<UsageError>("tensor 'momentum' of"));
}

TEST_F(Damage, AHeaderThatClaimsHugeTensorsIsRefusedWithoutMemory) {
  // As a forger does it: the header's checksum is right.
  const std::string header = R"({"a":{"dtype":"F64","shape":[1152921504606846976],"data_offsets":[0,8]}}    )";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  const std::string content = length + header + "01234567";
  put("model.safetensors", content);
  Manifest manifest = read_manifest(checkpoint_);
  const auto bytes = std::as_bytes(std::span(content));
  manifest.files = {{.name = "model.safetensors",
                     .header_bytes = content.size() - 8,
                     .header_checksum = crc32c(bytes.first(content.size() - 8)),
                     .tensors = {{"a", 8, crc32c(bytes.last(8))}}}};
  put(std::string(kManifestName), to_json(manifest));
  EXPECT_THAT(opening(), ThrowsWith<UsageError>("describes tensor 'a' wrongly"));
  EXPECT_THAT(verifying(), ThrowsWith<UsageError>("describes tensor 'a' wrongly"));
}

TEST_F(Damage, AFileOfAnotherCheckpointIsFound) {
  const auto other = test::write_small(folder_.path() / "checkpoints", 8);
  std::filesystem::copy_file(other / kTrainingFile, checkpoint_ / kTrainingFile,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(verifying(), ThrowsWith<UsageError>("tensor 'momentum' of"));
}

}  // namespace
}  // namespace lockstep::checkpoint
