// What a config says of data and what does not fit together, in words; and bad pictures.
#include <set>

#include <gmock/gmock.h>

#include "sources_of.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SourcesRefuse, TransformsWithTheirLine) {
  RunConfig config = config_of("synthetic:32x32:8");
  const auto net = make_net();
  config.data.transforms = {named("random_crop", {{"size", numbers({32})}}, 3), named("random_horizontl_flip", {}, 4)};
  EXPECT_THAT(error_of(config, *net), AllOf(HasSubstr("own.yaml:4: data.transforms: there is no transform"),
                                            HasSubstr("did you mean 'random_horizontal_flip'")));
  config.data.transforms = {named("random_crop", {{"sise", numbers({32})}}, 5)};
  EXPECT_THAT(error_of(config, *net), HasSubstr("own.yaml:5: data.transforms: "));
  config.data.transforms = {named("random_crop", {{"size", numbers({-1})}}, 6)};
  EXPECT_THAT(error_of(config, *net), HasSubstr("own.yaml:6: data.transforms: "));
  const auto normalize = named("normalize", {{"mean", numbers({0.5})}, {"std", numbers({0.5})}}, 8);
  config.data.transforms = {normalize, named("random_horizontal_flip", {}, 9)};
  EXPECT_THAT(error_of(config, *net), AllOf(HasSubstr("own.yaml:8: data.transforms: "), HasSubstr("behind normalize")));
  config.data.transforms = {};
  config.data.test_transforms = {named("flip", {}, 12)};
  EXPECT_THAT(error_of(config, *net), HasSubstr("own.yaml:12: data.test_transforms: there is no transform 'flip'"));
}

TEST(SourcesRefuse, ClassesThatDoNotFit) {
  const TemporaryFolder folder;
  RunConfig config = config_of(write_pictures(folder.path() / "a.lsp", 8));
  EXPECT_THAT(error_of(config, *make_net("test_linear", {.num_classes = 2})),
              AllOf(HasSubstr("more classes than the model"), HasSubstr("set model.classes to 3")));
  EXPECT_EQ(error_of(config, *make_net("test_linear", {.num_classes = 5})), "nothing was thrown");
  config.data.cutmix = 1;
  EXPECT_THAT(error_of(config, *make_net("test_linear", {.num_classes = 5})),
              AllOf(HasSubstr("mixup or cutmix"), HasSubstr("set model.classes to 3")));
}

TEST(SourcesRefuse, PicturesOfAnotherColor) {
  RunConfig config = config_of("mnist");
  config.data.samples = 8;
  const auto in_color = make_net("test_pool", {.num_classes = 10});
  EXPECT_THAT(error_of(config, *in_color), AllOf(HasSubstr("not what the model takes"), HasSubstr("gray"),
                                                 HasSubstr("grayscale: {num_output_channels: 3}")));
  config.data.transforms = config.data.test_transforms = {named("grayscale", {{"num_output_channels", numbers({3})}})};
  EXPECT_EQ(error_of(config, *in_color), "nothing was thrown");
  const TemporaryFolder folder;
  config = config_of(write_pictures(folder.path() / "a.lsp", 8));
  const auto in_gray = make_net("test_linear", {.input_channels = 1});
  EXPECT_THAT(error_of(config, *in_gray), AllOf(HasSubstr("color"), HasSubstr("num_output_channels: 1")));
  config.data.transforms = {named("random_horizontal_flip")};
  EXPECT_THAT(error_of(config, *in_gray), AllOf(HasSubstr("what data.transforms makes"), HasSubstr("3 x 32 x 32"),
                                                HasSubstr("num_output_channels: 1")));
}

TEST(SourcesRefuse, PicturesOfAnotherSizeUnlessTheModelTakesThem) {
  const TemporaryFolder folder;
  RunConfig config = config_of(write_pictures(folder.path() / "a.lsp", 8, 48));
  EXPECT_THAT(error_of(config, *make_net()), AllOf(HasSubstr("48 x 48"), HasSubstr("resize: {size: [32, 32]}")));
  config.data.transforms = {named("resize", {{"size", numbers({32, 32})}})};
  EXPECT_EQ(error_of(config, *make_net()), "nothing was thrown");
  config.data.test_path = config.data.path;
  EXPECT_THAT(error_of(config, *make_net()), AllOf(HasSubstr("data.test_transforms"), HasSubstr("3 x 48 x 48")));
  config.data.transforms = {named("random_crop", {{"size", numbers({40})}})};
  config.data.test_transforms = {named("center_crop", {{"size", numbers({40})}})};
  EXPECT_THAT(error_of(config, *make_net()), AllOf(HasSubstr("3 x 40 x 40"), HasSubstr("add a resize or a crop")));
  EXPECT_EQ(error_of(config, *make_net("test_pool")), "nothing was thrown");
}

TEST(SourcesRefuse, ModelsThatTakeNoPictures) {
  EXPECT_THAT(error_of(config_of("mnist"), *nn::make_model("lstm")),
              AllOf(HasSubstr("does not take pictures"), HasSubstr("32 x 128"), HasSubstr("--data synthetic")));
}

TEST(SourcesRefuse, LessThanOneStepUnlessTheTailIsKept) {
  const auto net = make_net();
  for (const char* path : {"synthetic:32x32:10", "synthetic"}) {
    RunConfig config = config_of(path);
    config.data.samples = 10;
    EXPECT_THAT(error_of(config, *net, 11),
                AllOf(HasSubstr("10"), HasSubstr("at least 11: 11 for each of 1 rank"), HasSubstr("data.tail")));
    config.data.tail = "pad";
    EXPECT_EQ(error_of(config, *net, 11), "nothing was thrown");
    // Mode optimizer makes nothing of fewer batches than it accumulates.
    config.accumulation = 3;
    EXPECT_EQ(error_of(config, *net, 5), "nothing was thrown");
    config.parallel.mode = "optimizer";
    EXPECT_THAT(error_of(config, *net, 5), AllOf(HasSubstr("at least 15"), HasSubstr("3 times (accumulation)")));
    config.accumulation = 2;
    EXPECT_EQ(error_of(config, *net, 5), "nothing was thrown");
  }
}

TEST(SourcesRefuse, WordsThatTheyDoNotKnow) {
  const auto net = make_net();
  RunConfig config = config_of("synthetic");
  config.data.cache = "devise";
  EXPECT_THAT(error_of(config, *net), AllOf(HasSubstr("data.cache cannot be 'devise'"), HasSubstr("'device'")));
  config = config_of("synthetic");
  config.data.tail = "cut";
  EXPECT_THAT(error_of(config, *net), AllOf(HasSubstr("data.tail"), HasSubstr("drop, pad, uneven")));
}

TEST(SourcesRefuse, WhatADeviceDoesNotDo) {
  RunConfig config = config_of("synthetic:32x32:8");
  config.data.cache = "device";
  config.data.transforms = {named("random_rotation", {{"degrees", numbers({15})}})};
  EXPECT_THAT(error_of(config, *make_net()), AllOf(HasSubstr("only cropped, flipped"), HasSubstr("data.cache")));
}

// A tree of two classes in which one picture is bad.
class BadPicture : public ::testing::TestWithParam<const char*> {
 protected:
  BadPicture() {
    tree_.put_all({"a/0.jpg", "a/1.jpg", "b/0.jpg", "b/1.jpg", "b/2.jpg"});
    config_ = config_of(tree_.path());
    config_.data.cache = GetParam();
    config_.data.tail = "uneven";
    config_.data.transforms = {named("center_crop", {{"size", numbers({32})}})};
  }
  PictureTree tree_;
  RunConfig config_;
};

TEST_P(BadPicture, IsNamedWhenItStopsTheRun) {
  for (const char* name : {"a/0.jpg", "b/1.jpg"}) {
    tree_.put(name, "broken/truncated.jpg");
    EXPECT_THAT(error_of(config_, *make_net()), HasSubstr(name));
    tree_.put(name);
  }
}

TEST_P(BadPicture, IsReplacedWhenItMayBeSkipped) {
  config_.data.on_error = "skip";
  tree_.put("a/0.jpg", "broken/page.jpg");
  tree_.put("b/2.jpg", "broken/truncated.jpg");
  Sources sources = sources_of(config_, *make_net());
  std::multiset<std::int64_t> labels;
  while (const auto batch = sources.train->next()) {
    for (std::int64_t i = 0; i < batch->target.size(0); ++i) labels.insert(batch->target[i].item<std::int64_t>());
  }
  EXPECT_THAT(labels, ::testing::ElementsAre(0, 0, 0, 1, 1));  // the last one's stand-in is the first good one
}

TEST_P(BadPicture, IsTooManyBeyondTheLimit) {
  config_.data.on_error = "skip";
  config_.data.max_bad = 1;
  tree_.put("a/1.jpg", "broken/page.jpg");
  tree_.put("b/2.jpg", "broken/truncated.jpg");
  EXPECT_THAT(error_of(config_, *make_net()), HasSubstr("too many bad samples"));
}

INSTANTIATE_TEST_SUITE_P(EveryCache, BadPicture, ::testing::Values("none", "memory", "device"));

}  // namespace
}  // namespace lockstep::test
