#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/config/difference.h>

namespace lockstep::test {
namespace {

using config::differences;
using config::Setting;
using config::training_hash;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Setting kRate{"optimizer.lr", "0.2", config::Place{"x.yaml", 14}, true};
const Setting kOutput{"output", "runs/a", config::Place{"x.yaml", 2}, false};
const Setting kClip{"clip.norm", "null", std::nullopt, true};

TEST(Differences, NameTheKeyBothValuesAndThePlace) {
  const auto found = differences({kRate, kOutput, kClip}, "optimizer:\n  lr: 0.1\nclip: {norm: null}\n");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].text(), "optimizer.lr: 0.1 then, 0.2 now (x.yaml:14)");
}

TEST(Differences, AreNoneWhereOnlyWhatMayChangeHasChanged) {
  EXPECT_THAT(differences({kRate, kOutput}, "{optimizer: {lr: 0.2}, output: elsewhere}"), IsEmpty());
}

TEST(Differences, OfAKeyThatDidNotExist_AreThereOnlyWhenItIsSetNow) {
  EXPECT_THAT(differences({kClip}, "{}"), IsEmpty());
  const auto found = differences({kRate}, "{optimizer: {}}");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].then, "not there");
}

TEST(Differences, OfADefault_SaySo) {
  EXPECT_EQ(differences({kClip}, "clip: {norm: 1}")[0].text(), "clip.norm: 1 then, null now (default)");
}

TEST(Differences, WithWhatIsNoConfig_AreRefused) {
  EXPECT_THROW(differences({kRate}, "[1]"), UsageError);
  EXPECT_THROW(differences({kRate}, "a: ["), UsageError);
}

TEST(TrainingHash, ChangesWithWhatShapesTrainingAlone) {
  const std::string hash = training_hash({kRate, kOutput});
  EXPECT_THAT(hash, SizeIs(64));
  Setting rate = kRate, output = kOutput;
  output.value = "runs/b";
  rate.place = config::Place{"--set optimizer.lr"};
  EXPECT_EQ(training_hash({rate, output}), hash);
  rate.value = "0.3";
  EXPECT_NE(training_hash({rate, output}), hash);
}

}  // namespace
}  // namespace lockstep::test
