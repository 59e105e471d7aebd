#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/config/schema.h>

namespace lockstep::test {
namespace {

using config::Named;
using config::parse_yaml;
using config::Schema;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Keys : public ::testing::Test {
 protected:
  Keys() {
    schema.add("name", &name, {.meaning = "A name."});
    schema.add("optimizer.kind", &kind, {.meaning = "Who steps.", .choices = {"sgd", "adam"}});
    schema.add("optimizer.lr", &rate, {.meaning = "The rate.", .above = 0});
    schema.add("optimizer.betas", &betas, {.meaning = "Decays.", .least = 0, .below = 1});
    schema.add("epochs", &epochs, {.meaning = "How long.", .least = 1});
    schema.add("seed", &seed, {.meaning = "Of all chance."});
    schema.add("clip", &clip, {.meaning = "The largest norm.", .above = 0});
    schema.add("deterministic", &deterministic, {.meaning = "Bit by bit.", .shapes_training = false});
    schema.add("data.transforms", &transforms, {.meaning = "In this order."});
    schema.add("tags", &tags, {.meaning = "Words."});
  }

  std::string refusal(const std::string& text) {
    try {
      schema.read(parse_yaml(text, "a.yaml"));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "it was read";
  }

  std::string name = "run", kind = "sgd";
  double rate = 0.1;
  std::vector<double> betas = {0.9, 0.999};
  int epochs = 10;
  std::int64_t seed = 0;
  std::optional<double> clip;
  bool deterministic = false;
  std::vector<Named> transforms;
  std::vector<std::string> tags;
  Schema schema;
};

TEST_F(Keys, SetTheirVariables) {
  schema.read(
      parse_yaml("name: cifar\n"
                 "optimizer: {kind: adam, lr: 1e-3, betas: [0.5, 0.75]}\n"
                 "epochs: 3\nseed: -7\nclip: 2.5\ndeterministic: yes\n"
                 "data:\n  transforms:\n  - flip\n  - crop: {size: 32, padding: [4, 4], mode: reflect}\n"
                 "tags: one\n",
                 "a.yaml"));
  EXPECT_EQ(name, "cifar");
  EXPECT_EQ(kind, "adam");
  EXPECT_EQ(rate, 1e-3);
  EXPECT_THAT(betas, ElementsAre(0.5, 0.75));
  EXPECT_EQ(epochs, 3);
  EXPECT_EQ(seed, -7);
  EXPECT_EQ(clip, 2.5);
  EXPECT_TRUE(deterministic);
  EXPECT_THAT(tags, ElementsAre("one"));
  ASSERT_EQ(transforms.size(), 2U);
  EXPECT_EQ(transforms[0].name, "flip");
  EXPECT_EQ(transforms[1].name, "crop");
  EXPECT_EQ(transforms[1].place.text(), "a.yaml:10");
  EXPECT_EQ(std::get<std::vector<double>>(transforms[1].parameters.at("padding")), (std::vector<double>{4, 4}));
  EXPECT_EQ(std::get<std::string>(transforms[1].parameters.at("mode")), "reflect");
}

TEST_F(Keys, KeepTheirDefaultsWhereNothingIsSaid) {
  schema.read(parse_yaml("{optimizer: , epochs: ~, clip: null}", "a.yaml"));
  EXPECT_EQ(epochs, 10);
  EXPECT_EQ(clip, std::nullopt);
}

TEST_F(Keys, AreRefusedWhereNobodyKnowsThem) {
  EXPECT_THAT(refusal("name: x\noptimiser: {lr: 1}\n"),
              StartsWith("a.yaml:2: unknown key 'optimiser'; did you mean 'optimizer'?"));
  EXPECT_THAT(refusal("optimizer: {betass: 1}"),
              StartsWith("a.yaml:1: unknown key 'betass' in 'optimizer'; did you mean 'betas'?"));
  EXPECT_THAT(refusal("lr: 0.1"), StartsWith("a.yaml:1: unknown key 'lr'; did you mean 'optimizer.lr'?"));
  EXPECT_THAT(refusal("zebra: 1"), ::testing::StrEq("a.yaml:1: unknown key 'zebra'"));
}

TEST_F(Keys, AreNamedWhereAKeyElsewhereHasTheUnknownName) {
  int epoch = 1;
  schema.add("profile.epoch", &epoch, {.meaning = "Which."});
  EXPECT_THAT(refusal("epoch: 3"), HasSubstr("unknown key 'epoch'; did you mean 'epochs' or 'profile.epoch'?"));
}

TEST_F(Keys, SayWhatTheyExpect) {
  EXPECT_THAT(refusal("epochs: many"), HasSubstr("a.yaml:1: 'epochs' does not fit"));
  EXPECT_THAT(refusal("epochs: many"), HasSubstr("expected: a whole number of at least 1"));
  for (const char* text :
       {"epochs: 1.5", "epochs: 0", "epochs: \"3\"", "epochs: [1]", "epochs: 1e3", "epochs: 99999999999", "epochs: +-5",
        "optimizer: {lr: 0}", "optimizer: {lr: nan}", "optimizer: {lr: .inf}", "optimizer: {lr: fast}",
        "optimizer: {betas: [0.5, 1]}", "clip: x", "deterministic: 1", "name: [a]",
        "data: {transforms: [{a: {}, b: {}}]}", "data: {transforms: [{a: 3}]}", "tags: [[a]]"}) {
    EXPECT_THAT(refusal(text), HasSubstr("does not fit")) << text;
  }
  EXPECT_THAT(refusal("optimizer: {kind: adm}"), HasSubstr("'optimizer.kind' cannot be 'adm'; did you mean 'adam'?"));
  EXPECT_THAT(refusal("optimizer: sgd"), HasSubstr("'optimizer' is a section"));
}

TEST_F(Keys, AreListedWithTypeAndDefault) {
  const auto keys = schema.keys();
  ASSERT_EQ(keys.size(), 10U);
  EXPECT_EQ(keys[1].path, "optimizer.kind");
  EXPECT_EQ(keys[1].type, "one of sgd, adam");
  EXPECT_EQ(keys[2].type, "a number above 0");
  EXPECT_EQ(keys[2].fallback, "0.1");
  EXPECT_EQ(keys[3].type, "a list, each a number of at least 0 and below 1");
  EXPECT_EQ(keys[6].type, "a number above 0, or null");
  EXPECT_EQ(keys[6].fallback, "null");
  EXPECT_EQ(keys[7].meaning, "Bit by bit.");
  EXPECT_TRUE(keys[6].shapes_training);
  EXPECT_FALSE(keys[7].shapes_training);
}

TEST_F(Keys, RememberWhereTheirValuesCameFrom) {
  schema.read(parse_yaml("\nepochs: 3\n", "a.yaml"));
  const auto settings = schema.settings();
  EXPECT_EQ(settings[4].value, "3");
  EXPECT_EQ(settings[4].place->text(), "a.yaml:2");
  EXPECT_EQ(settings[5].place, std::nullopt);
  EXPECT_FALSE(settings[7].shapes_training);
}

TEST_F(Keys, WriteAConfigThatReadsBackTheSame) {
  schema.read(
      parse_yaml("{name: \"12\", optimizer: {betas: [0.25, 0.125]}, clip: 1, tags: [\"a b\", \"no\"], "
                 "data: {transforms: [{crop: {size: [1, 2], mode: x}}, flip]}}",
                 "a.yaml"));
  const std::string text = schema.to_yaml();
  EXPECT_THAT(text, HasSubstr("optimizer:\n  kind: sgd\n  lr: 0.1\n  betas: [0.25, 0.125]\n"));
  const auto before = schema.settings();
  schema.read(parse_yaml(text, "b.yaml"));
  const auto after = schema.settings();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].value, after[i].value) << before[i].path;
  EXPECT_EQ(name, "12");
  EXPECT_THAT(tags, ElementsAre("a b", "no"));
}

}  // namespace
}  // namespace lockstep::test
