// Batches from a config: those that it describes.
#include <map>
#include <set>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <gmock/gmock.h>

#include <lockstep/data/mnist.h>

#include "choices_of.h"
#include "sources_of.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Whole {
  std::map<std::int64_t, at::Tensor> data;
  std::map<std::int64_t, at::Tensor> targets;
};

Whole whole(data::BatchSource& source) {
  Whole all;
  while (const auto batch = source.next()) {
    for (std::size_t i = 0; i < batch->samples.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      all.data[batch->samples[i]] = batch->data[row].clone();
      all.targets[batch->samples[i]] = batch->target[row].clone();
    }
  }
  return all;
}

bool same(const std::map<std::int64_t, at::Tensor>& a, const std::map<std::int64_t, at::Tensor>& b,
          double tolerance = 0) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
    return x.first == y.first &&
           (tolerance > 0 ? at::allclose(x.second, y.second, tolerance, tolerance) : x.second.equal(y.second));
  });
}

TEST(RandomNumbers, HaveTheShapeOfEveryModelAndLabelsOfItsClasses) {
  for (const auto& [name, dimensions] : std::map<std::string, int>{{"mnist", 4}, {"lstm", 3}, {"conv3d", 5}}) {
    RunConfig config = config_of("synthetic");
    config.data.samples = 20;
    const auto model = nn::make_model(name);
    Sources sources = sources_of(config, *model);
    EXPECT_EQ(sources.sample_shape, model->input_shape());
    EXPECT_EQ(sources.classes, model->num_classes());
    EXPECT_EQ(sources.train_samples, 20);
    EXPECT_EQ(sources.test_samples, 5);
    const data::Batch batch = *sources.train->next();
    EXPECT_EQ(batch.data.dim(), dimensions) << name;
    EXPECT_EQ(batch.data.sizes().slice(1), at::IntArrayRef(model->input_shape())) << name;
    EXPECT_TRUE(batch.target.ge(0).logical_and(batch.target.lt(model->num_classes())).all().item<bool>()) << name;
    EXPECT_EQ(model->forward(batch.data).sizes(), at::IntArrayRef({kBatch, model->num_classes()})) << name;
  }
}

TEST(RandomNumbers, SampleIsAFunctionOfTheSeedWhateverTheBatch) {
  const auto net = make_net();
  RunConfig config = config_of("synthetic");
  config.data.samples = 24;
  const Whole first = whole(*sources_of(config, *net, 4).train);
  EXPECT_EQ(first.data.size(), 24U);
  const Whole again = whole(*sources_of(config, *net, 12).train);
  EXPECT_TRUE(same(first.data, again.data));
  EXPECT_TRUE(same(first.targets, again.targets));
  EXPECT_FALSE(same(whole(*sources_of(config, *net).test).data, first.data));
  config.seed = 1;
  EXPECT_FALSE(same(whole(*sources_of(config, *net).train).data, first.data));
}

TEST(RandomNumbers, AreLaidOutAsTheConfigSays) {
  RunConfig config = config_of("synthetic");
  config.data.samples = 8;
  for (const char* name : {"test_linear", "conv3d"}) {
    const auto model = std::string(name) == "conv3d" ? nn::make_model(name) : make_net();
    const auto format =
        model->input_shape().size() == 3 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::ChannelsLast3d;
    config.layout = "channels-last";
    EXPECT_TRUE(sources_of(config, *model).train->next()->data.is_contiguous(format)) << name;
    config.layout = "contiguous";
    EXPECT_TRUE(sources_of(config, *model).train->next()->data.is_contiguous()) << name;
  }
}

TEST(RandomNumbers, AreEnoughForSomeStepsUnlessTheirNumberIsGiven) {
  const auto net = make_net();
  EXPECT_EQ(sources_of(config_of("synthetic"), *net).train_samples, 1024);
  EXPECT_EQ(sources_of(config_of("synthetic"), *net, 1000).train_samples, 8000);
}

TEST(RandomNumbers, AreNotMixed) {
  RunConfig config = config_of("synthetic");
  config.data.mixup = 0.2;
  EXPECT_THAT(error_of(config, *make_net()), AllOf(HasSubstr("cannot be mixed"), HasSubstr("synthetic:WIDTHxHEIGHT")));
}

TEST(MadeUpPictures, HaveTheClassesAndTheColorOfTheModel) {
  for (const std::int64_t channels : {1, 3}) {
    const auto net = make_net("test_linear", {.num_classes = 2, .input_channels = channels});
    Sources sources = sources_of(config_of("synthetic:32x32:40"), *net);
    EXPECT_EQ(sources.train_samples, 40);
    EXPECT_EQ(sources.test_samples, 10);
    const Whole all = whole(*sources.train);
    std::set<std::int64_t> labels;
    for (const auto& [sample, target] : all.targets) labels.insert(target.item<std::int64_t>());
    EXPECT_THAT(labels, ::testing::ElementsAre(0, 1));
    EXPECT_EQ(all.data.at(0).sizes(), at::IntArrayRef({channels, 32, 32}));
    EXPECT_FALSE(same(whole(*sources.test).data, all.data));
  }
}

// The list of keys is made without libtorch and cannot ask for these words.
TEST(Sources, TakeEveryWordThatTheKeysOffer) {
  const auto net = make_net();
  const std::vector<std::pair<const char*, std::string RunConfig::*>> of_run = {{"layout", &RunConfig::layout}};
  const std::vector<std::pair<const char*, std::string train::DataKeys::*>> of_data = {
      {"data.tail", &train::DataKeys::tail},
      {"data.cache", &train::DataKeys::cache},
      {"data.on_error", &train::DataKeys::on_error}};
  const auto expect_taken = [&](const char* key, const auto& put) {
    const auto words = choices_of(key);
    EXPECT_GE(words.size(), 2U) << key;
    for (const std::string& word : words) {
      RunConfig config = config_of("synthetic:32x32:10");
      config.data.samples = 8;
      put(config, word);
      EXPECT_EQ(error_of(config, *net), "nothing was thrown") << key << " = " << word;
    }
  };
  for (const auto& [key, member] : of_run) {
    expect_taken(key, [member = member](RunConfig& config, const std::string& word) { config.*member = word; });
  }
  for (const auto& [key, member] : of_data) {
    expect_taken(key, [member = member](RunConfig& config, const std::string& word) { config.data.*member = word; });
  }
}

TEST(Sources, MnistIsNormalizedByDefault) {
  RunConfig config = config_of("mnist");
  config.data.samples = 64;
  const auto model = nn::make_model("mnist");
  Sources sources = sources_of(config, *model);
  EXPECT_EQ(sources.classes, 10);
  const data::Batch batch = *sources.test->next();
  const auto expected = data::read_mnist(data::default_mnist_folder(), data::Split::kTest);
  const at::Tensor taken = (at::arange(64) * expected.labels.size(0)).div(64, "floor");
  EXPECT_TRUE(at::allclose(batch.data, expected.normalized(taken), 1e-5, 1e-5));
  EXPECT_TRUE(batch.target.equal(expected.labels.index_select(0, taken)));
}

TEST(Sources, GrayPicturesStayGrayUnderTransformsOfTheConfig) {
  RunConfig config = config_of("mnist");
  config.data.samples = 8;
  config.data.transforms = {named("random_crop", {{"size", numbers({28})}, {"padding", numbers({2})}})};
  const auto model = nn::make_model("mnist");
  EXPECT_EQ(sources_of(config, *model).sample_shape, (std::vector<std::int64_t>{1, 28, 28}));
}

TEST(Sources, TestIsNormalizedAsTrainingIs) {
  const TemporaryFolder folder;
  RunConfig config = config_of(write_pictures(folder.path() / "a.lsp", 4));
  config.data.test_path = config.data.path;
  const auto net = make_net();
  config.data.transforms = {named("normalize", {{"mean", numbers({0.5})}, {"std", numbers({0.25})}})};
  Sources sources = sources_of(config, *net);
  EXPECT_TRUE(same(whole(*sources.train).data, whole(*sources.test).data));
  config.data.transforms = {named("random_horizontal_flip", {{"p", numbers({0})}})};
  Sources plain = sources_of(config, *net);
  EXPECT_LE(whole(*plain.test).data.at(0).max().item<float>(), 1.0F);
}

TEST(Sources, EveryCacheGivesTheSamePictures) {
  PictureTree tree;
  for (int i = 0; i < 5; ++i) {
    for (const char* name : {"train/a/", "train/b/", "val/a/", "val/b/"}) {
      tree.put(name + std::to_string(i) + ".jpg", i % 2 == 0 ? "good/420.jpg" : "good/444.jpg");
    }
  }
  RunConfig config = config_of(tree.path());
  config.data.tail = "uneven";
  config.data.transforms = {named("random_crop", {{"size", numbers({32})}}), named("random_horizontal_flip")};
  config.data.test_transforms = {named("center_crop", {{"size", numbers({32})}})};
  const auto net = make_net();
  Sources plain = sources_of(config, *net);
  const Whole train = whole(*plain.train), test = whole(*plain.test);
  EXPECT_EQ(train.data.size(), 10U);
  config.data.cache = "memory";
  Sources in_memory = sources_of(config, *net);
  EXPECT_TRUE(same(whole(*in_memory.train).data, train.data));
  EXPECT_TRUE(same(whole(*in_memory.test).data, test.data));
  config.data.cache = "device";
  Sources on_device = sources_of(config, *net);
  const Whole device_train = whole(*on_device.train);
  EXPECT_TRUE(same(device_train.data, train.data, 1e-5));
  EXPECT_TRUE(same(device_train.targets, train.targets));
  EXPECT_TRUE(same(whole(*on_device.test).data, test.data, 1e-5));
}

TEST(Sources, PicturesAreLaidOutAsTheConfigSaysWithTheSameValues) {
  RunConfig config = config_of("synthetic:32x32:8");
  const auto net = make_net();
  for (const char* cache : {"none", "memory", "device"}) {
    config.data.cache = cache;
    config.layout = "channels-last";
    const at::Tensor last = sources_of(config, *net).train->next()->data;
    EXPECT_TRUE(last.is_contiguous(at::MemoryFormat::ChannelsLast)) << cache;
    config.layout = "contiguous";
    const at::Tensor plain = sources_of(config, *net).train->next()->data;
    EXPECT_TRUE(plain.is_contiguous()) << cache;
    EXPECT_TRUE(plain.equal(last)) << cache;
  }
}

TEST(Sources, SeedShufflesTraining) {
  RunConfig config = config_of("synthetic:32x32:40");
  const auto net = make_net();
  const auto first = sources_of(config, *net, 40).train->next()->samples;
  EXPECT_EQ(sources_of(config, *net, 40).train->next()->samples, first);
  config.seed = 1;
  EXPECT_NE(sources_of(config, *net, 40).train->next()->samples, first);
}

TEST(Sources, TailIsDroppedFilledOrUneven) {
  RunConfig config = config_of("synthetic:32x32:10");
  const auto net = make_net();
  for (const auto& [tail, count] : std::map<std::string, std::size_t>{{"drop", 8}, {"pad", 12}, {"uneven", 10}}) {
    config.data.tail = tail;
    Sources sources = sources_of(config, *net);
    std::size_t samples = 0;
    while (const auto batch = sources.train->next()) samples += batch->samples.size();
    EXPECT_EQ(samples, count) << tail;
  }
}

TEST(Sources, MixedPicturesHaveSoftLabelsInTrainingAlone) {
  for (const char* cache : {"none", "device"}) {
    RunConfig config = config_of("synthetic:32x32:8");
    config.data.cache = cache;
    config.data.mixup = 0.2;
    Sources sources = sources_of(config, *make_net());
    EXPECT_EQ(sources.train->next()->target.sizes(), at::IntArrayRef({kBatch, 3}));
    EXPECT_EQ(sources.test->next()->target.dim(), 1);
  }
}

TEST(Sources, ToLookWhetherAModelTakesPicturesChangesNoRandomNumber) {
  RunConfig config = config_of("synthetic:48x48:8");
  config.data.transforms = config.data.test_transforms = {named("random_horizontal_flip")};
  const auto net = make_net("test_pool");
  const at::Tensor before = at::detail::getDefaultCPUGenerator().get_state();
  EXPECT_EQ(sources_of(config, *net).sample_shape, (std::vector<std::int64_t>{3, 48, 48}));
  EXPECT_TRUE(at::detail::getDefaultCPUGenerator().get_state().equal(before));
}

}  // namespace
}  // namespace lockstep::test
