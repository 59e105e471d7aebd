#include <fstream>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/checkpoint.h>
#include <lockstep/checkpoint/find.h>
#include <lockstep/checkpoint/safetensors_writer.h>
#include <lockstep/checkpoint/writer.h>

#include "small_checkpoint.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::checkpoint {
namespace {

using test::is_small;
using test::ThrowsWith;
using test::write_small;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class CheckpointWriter : public ::testing::Test {
 protected:
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(checkpoints_))
      names.push_back(entry.path().filename());
    return names;
  }

  const test::TemporaryFolder folder_;
  const std::filesystem::path checkpoints_ = folder_.path() / "checkpoints";
};

TEST_F(CheckpointWriter, WhatIsWrittenIsRead) {
  EXPECT_EQ(write_small(checkpoints_, 1200), checkpoints_ / "1200");
  verify(checkpoints_ / "1200");
  const Checkpoint checkpoint(checkpoints_ / "1200");
  EXPECT_TRUE(is_small(checkpoint));
  EXPECT_EQ(checkpoint.manifest().epoch, 120);
  EXPECT_EQ(checkpoint.manifest().numbers.at("loss"), 1.0 / 1201);
  EXPECT_THAT([&] { checkpoint.tensor(kModelFile, "conv.wait"); }, ThrowsWith<UsageError>("did you mean"));
  EXPECT_THAT([&] { checkpoint.tensor("mode.safetensors", "x"); }, ThrowsWith<UsageError>("'model.safetensors'?"));
}

TEST_F(CheckpointWriter, ATensorOutlivesItsCheckpoint) {
  const auto tensor = Checkpoint(write_small(checkpoints_, 1)).tensor(kModelFile, "conv.bias");
  EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(tensor.tensor.bytes.data()), 1'000'003);
}

TEST_F(CheckpointWriter, WithoutCommitNothingIsLeft) {
  write_small(checkpoints_, 1);
  {
    Writer writer(checkpoints_, 2);
    writer.write(kModelFile, {});
    EXPECT_THAT(names(), UnorderedElementsAre("1", ".writing-2"));
  }
  EXPECT_THAT(names(), UnorderedElementsAre("1"));
}

TEST_F(CheckpointWriter, LeftoversAreRemovedAndNothingElse) {
  for (const char* name : {".writing-5", ".removing-17", "5", ".writing-x", ".writing-05", ".writing-", "mine"}) {
    std::filesystem::create_directories(checkpoints_ / name);
    std::ofstream(checkpoints_ / name / "file") << "content";
  }
  std::filesystem::create_directories(checkpoints_ / ".writing-6" / "a folder of somebody");
  write_small(checkpoints_, 7);
  EXPECT_THAT(names(), UnorderedElementsAre("7", "5", ".writing-x", ".writing-05", ".writing-", "mine", ".writing-6"));
}

TEST_F(CheckpointWriter, ACheckpointOfTheSameStepIsReplaced) {
  write_small(checkpoints_, 3, 10);
  write_small(checkpoints_, 3, 20);
  EXPECT_TRUE(is_small(Checkpoint(checkpoints_ / "3"), 20));
  EXPECT_THAT(names(), UnorderedElementsAre("3"));
}

TEST_F(CheckpointWriter, OnlyOneProcessWritesAtATime) {
  Writer first(checkpoints_, 1);
  EXPECT_THAT([&] { Writer(checkpoints_, 2); }, ThrowsWith<UsageError>("another process writes checkpoints into"));
  first.commit({});
  EXPECT_THAT([&] { first.commit({}); }, ThrowsWith<UsageError>("only once"));
  EXPECT_NO_THROW(Writer(checkpoints_, 2));
}

TEST_F(CheckpointWriter, RanksWriteTheirShards) {
  const auto values = test::values_of(4, 5);
  const std::vector tensors = {test::int64_tensor("share", values)};
  Writer writer(checkpoints_, 4);
  writer.add(write_safetensors(writer.folder() / training_shard(0, 2), tensors));
  EXPECT_THAT([&] { writer.commit({.ranks = 2}); }, ThrowsWith<UsageError>("training-00002-of-00002"));
  FileRecord second = write_safetensors(writer.folder() / training_shard(1, 2), tensors);
  writer.add(second);
  writer.commit({.ranks = 2});
  EXPECT_EQ(Checkpoint(checkpoints_ / "4").tensor(training_shard(1, 2), "share").tensor.bytes.size(), 40);
}

TEST_F(CheckpointWriter, AShardThatIsNotThereIsFoundBeforeTheCommit) {
  Writer writer(checkpoints_, 4);
  writer.add({.name = "training.safetensors", .header_bytes = 16});
  EXPECT_THAT([&] { writer.commit({}); }, ThrowsWith<RuntimeError>("training.safetensors"));
  std::ofstream(writer.folder() / "training.safetensors") << "short";
  EXPECT_THAT([&] { writer.commit({}); }, ThrowsWith<RuntimeError>("does not have the size"));
}

TEST_F(CheckpointWriter, AFolderThatCannotBeMadeIsAnErrorInWords) {
  EXPECT_THAT([] { Writer("/nowhere/checkpoints", 1); }, ThrowsWith<RuntimeError>("/nowhere/checkpoints"));
  folder_.write("checkpoints", "a file");
  EXPECT_THAT([&] { Writer(checkpoints_, 1); }, ThrowsWith<RuntimeError>("check the folder"));
}

TEST_F(CheckpointWriter, NewestGoodSaysWhyItPassedOverOthers) {
  EXPECT_FALSE(newest_good(checkpoints_).checkpoint);
  for (const int step : {9, 10, 11, 12}) write_small(checkpoints_, step);
  std::filesystem::resize_file(checkpoints_ / "12" / kModelFile, 20);
  std::filesystem::remove(checkpoints_ / "11" / kManifestName);
  std::filesystem::rename(checkpoints_ / "10", checkpoints_ / "100");
  const NewestGood newest = newest_good(checkpoints_);
  ASSERT_TRUE(newest.checkpoint);
  EXPECT_EQ(newest.checkpoint->manifest().step, 9);
  EXPECT_TRUE(is_small(*newest.checkpoint));
  ASSERT_EQ(newest.passed_over.size(), 3);
  EXPECT_EQ(newest.passed_over[0].folder, checkpoints_ / "100");
  EXPECT_THAT(newest.passed_over[0].why, HasSubstr("another step than its name"));
  EXPECT_THAT(newest.passed_over[1].why, HasSubstr("model.safetensors' is truncated"));
  EXPECT_THAT(newest.passed_over[2].why, HasSubstr("checkpoint.json"));
}

TEST_F(CheckpointWriter, NewestGoodOfDamagedOnesIsNone) {
  write_small(checkpoints_, 1);
  std::filesystem::remove(checkpoints_ / "1" / kModelFile);
  const NewestGood newest = newest_good(checkpoints_);
  EXPECT_FALSE(newest.checkpoint);
  EXPECT_EQ(newest.passed_over.size(), 1);
}

}  // namespace
}  // namespace lockstep::checkpoint
