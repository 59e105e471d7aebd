// One way to all files of weights.
#include <lockstep/checkpoint/weights.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/survey.h>
#include <lockstep/checkpoint/writer.h>

#include "float_tensors.h"
#include "small_checkpoint.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::checkpoint {
namespace {

using test::float_tensor;
using test::floats_of;
using test::ThrowsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WeightsFile : public ::testing::Test {
 protected:
  // Files in the folder, as ls -a would show them.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  const test::TemporaryFolder folder_;
  const std::vector<float> values_ = {1, 2, 3}, average_ = {4, 5, 6};
};

TEST_F(WeightsFile, IsOpenedByItsContentAndNotByItsName) {
  const std::vector tensors = {float_tensor("w", values_)};
  for (const char* name : {"a.pt", "a.pth", "a.safetensors"}) {
    write_weights(folder_.path() / name, tensors);
    std::filesystem::copy_file(folder_.path() / name, folder_.path() / "renamed.bin",
                               std::filesystem::copy_options::overwrite_existing);
    for (const char* read : {name, "renamed.bin"}) {
      const Weights weights = open_weights(folder_.path() / read);
      ASSERT_EQ(weights.tensors.size(), 1);
      EXPECT_EQ(weights.tensors[0].tensor.name, "w");
      EXPECT_THAT(floats_of(weights.tensors[0].tensor), ElementsAre(1, 2, 3));
      EXPECT_THAT(weights.notes, IsEmpty());
    }
  }
  EXPECT_THAT(names(), ElementsAre("a.pt", "a.pth", "a.safetensors", "renamed.bin"));
}

// Its first bytes are the length of the header, which can be any.
TEST_F(WeightsFile, IsSafetensorsWhateverItsLengthLooksLike) {
  for (const std::string magic : {"PK", "\x80\x02"}) {
    const std::size_t length = static_cast<unsigned char>(magic[0]) + 256U * static_cast<unsigned char>(magic[1]);
    std::string header = "{}";
    header.resize(length, ' ');
    const auto path = folder_.write("a.bin", magic + std::string(6, '\0') + header);
    EXPECT_EQ(kind_of_weights(path), WeightsKind::kSafetensors);
    EXPECT_THAT(open_weights(path).tensors, IsEmpty());
  }
}

TEST_F(WeightsFile, OfACheckpointAreTheModelsOrTheAverage) {
  const auto checkpoints = folder_.path() / "checkpoints";
  const std::vector<float> updates = {7};
  Writer writer(checkpoints, 10);
  const std::vector model = {float_tensor("w", values_)};
  writer.write(kModelFile, model);
  const std::vector training = {float_tensor("ema/updates", updates), float_tensor("ema/w", average_),
                                float_tensor("momentum", values_)};
  writer.write(kTrainingFile, training);
  const auto folder = writer.commit({});
  EXPECT_THAT(floats_of(open_weights(folder).tensors.at(0).tensor), ElementsAre(1, 2, 3));
  const Weights average = open_weights(folder, {.average = true});
  ASSERT_EQ(average.tensors.size(), 1);
  EXPECT_EQ(average.tensors[0].tensor.name, "w");
  EXPECT_THAT(floats_of(average.tensors[0].tensor), ElementsAre(4, 5, 6));
  EXPECT_THAT(average.notes, ElementsAre(HasSubstr("averaged")));
}

TEST_F(WeightsFile, SaysWhatIsWrongWithAPath) {
  const auto checkpoints = folder_.path() / "checkpoints";
  const auto folder = test::write_small(checkpoints, 1);
  EXPECT_THAT([&] { open_weights(folder, {.average = true}); }, ThrowsWith<UsageError>("no averaged weights"));
  EXPECT_THAT([&] { open_weights(folder, {.key = "a"}); }, ThrowsWith<UsageError>("only PyTorch files have keys"));
  EXPECT_THAT([&] { open_weights(checkpoints); }, ThrowsWith<UsageError>("RUN/checkpoints/1200"));
  EXPECT_THAT([&] { open_weights(folder_.path() / "absent.pt"); }, ThrowsWith<UsageError>("No such file"));
  EXPECT_THAT([&] { open_weights(folder_.write("a.pt", "hello, world")); },
              ThrowsWith<UsageError>("no file of weights"));
  EXPECT_THAT([&] { open_weights(folder_.write("a.safetensors", "")); }, ThrowsWith<UsageError>("truncated"));
  EXPECT_THAT([&] { open_weights(folder_.write("b.pt", "PK")); }, ThrowsWith<UsageError>("truncated"));
  EXPECT_THAT([&] { open_weights(folder_.write("b.pth", "")); }, ThrowsWith<UsageError>("truncated"));
  EXPECT_THAT([&] { open_weights(folder_.write("b.bin", "")); }, ThrowsWith<UsageError>("no file of weights"));
  EXPECT_THAT([&] { open_weights("/dev/null"); }, ThrowsWith<UsageError>("not a regular file"));
  std::string model = test::content(folder / kModelFile);
  model.back() = static_cast<char>(model.back() ^ 1);
  std::ofstream(folder / kModelFile, std::ios::binary) << model;
  EXPECT_THAT([&] { open_weights(folder); }, ThrowsWith<UsageError>("tensor 'conv.weight' of"));
}

TEST_F(WeightsFile, IsReplacedOnlyWhenThatIsWanted) {
  const std::vector first = {float_tensor("w", values_)}, second = {float_tensor("w", average_)};
  const auto path = folder_.path() / "a.safetensors";
  write_weights(path, first);
  EXPECT_THAT([&] { write_weights(path, second); }, ThrowsWith<UsageError>("exists"));
  EXPECT_THAT(floats_of(open_weights(path).tensors.at(0).tensor), ElementsAre(1, 2, 3));
  write_weights(path, second, /*replace=*/true);
  EXPECT_THAT(floats_of(open_weights(path).tensors.at(0).tensor), ElementsAre(4, 5, 6));
  EXPECT_THAT(names(), ElementsAre("a.safetensors"));
}

TEST_F(WeightsFile, ThatCannotBeWrittenLeavesNothing) {
  const std::vector tensors = {float_tensor("w", values_), float_tensor("w", values_)};
  EXPECT_THAT([&] { write_weights(folder_.path() / "a.pt", tensors); }, ThrowsWith<UsageError>("two tensors"));
  EXPECT_THAT([&] { write_weights(folder_.path() / "a.bin", {}); }, ThrowsWith<UsageError>(".safetensors, or .pt"));
  EXPECT_THAT([&] { write_weights(folder_.path() / "a", {}); }, ThrowsWith<UsageError>("no ending"));
  EXPECT_THAT([&] { write_weights("/nowhere/a.pt", {}); }, ThrowsWith<RuntimeError>("cannot write '/nowhere/"));
  std::filesystem::create_directory(folder_.path() / "b.pt");
  EXPECT_THAT([&] { write_weights(folder_.path() / "b.pt", {}, true); }, ThrowsWith<UsageError>("is a folder"));
  EXPECT_THAT(names(), ElementsAre("b.pt"));
}

TEST_F(WeightsFile, ASurveyFindsTheCheckpointsOfARun) {
  const auto checkpoints = folder_.path() / "checkpoints";
  EXPECT_THAT([&] { survey(folder_.path()); }, ThrowsWith<UsageError>("there is no checkpoint in"));
  for (const int step : {1, 2, 10}) test::write_small(checkpoints, step);
  std::filesystem::resize_file(checkpoints / "2" / kModelFile, 20);
  std::filesystem::remove(checkpoints / "10" / kManifestName);
  for (const auto& path : {folder_.path(), checkpoints}) {
    const std::vector<Surveyed> all = survey(path);
    ASSERT_EQ(all.size(), 3);
    EXPECT_EQ(all[0].manifest->step, 1);
    EXPECT_EQ(all[0].problem, "");
    EXPECT_THAT(all[1].problem, HasSubstr("truncated"));
    EXPECT_FALSE(all[2].manifest);
    EXPECT_THAT(all[2].problem, HasSubstr("checkpoint.json"));
  }
  EXPECT_EQ(survey(checkpoints / "1").at(0).folder, checkpoints / "1");
}

}  // namespace
}  // namespace lockstep::checkpoint
