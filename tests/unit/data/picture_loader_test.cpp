// Pictures into batches: the same bits whoever makes them, bad files by name, and a device that does what workers do.
#include <filesystem>
#include <map>

#include <ATen/ops/allclose.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/decoded_pictures.h>
#include <lockstep/data/device_loader.h>
#include <lockstep/data/image_folder.h>
#include <lockstep/data/loader.h>
#include <lockstep/data/synthetic.h>

#include "source_path.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kSize = 50;

std::shared_ptr<const PictureSet> synthetic(int side = 32) {
  return std::make_shared<SyntheticPictures>(
      SyntheticOptions{.count = kSize, .width = side, .height = side, .classes = 5});
}

Transforms augmented() {
  return {random_crop({.size = {32, 32}, .padding = {4, 4, 4, 4}}), random_horizontal_flip(),
          color_jitter({.brightness = Range{0.6, 1.4}}),
          normalize({.mean = {0.5, 0.4, 0.3}, .deviation = {0.2, 0.25, 0.3}}), random_erasing({})};
}

DistributedSampler sampler(int rank = 0, int ranks = 1) {
  return DistributedSampler(kSize, RankId{rank, ranks}, {.tail = Tail::kUneven, .seed = 3});
}

// What each sample became.
std::map<std::int64_t, at::Tensor> by_sample(BatchSource& source) {
  std::map<std::int64_t, at::Tensor> all;
  while (const auto batch = source.next()) {
    for (std::size_t i = 0; i < batch->samples.size(); ++i) {
      all[batch->samples[i]] = batch->data[static_cast<std::int64_t>(i)].clone();
    }
  }
  return all;
}

bool equal(const std::map<std::int64_t, at::Tensor>& a, const std::map<std::int64_t, at::Tensor>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && x.second.equal(y.second);
         });
}

TEST(PictureLoader, SampleIsTheSameWhateverTheWorkersRanksAndBatches) {
  Loader alone(synthetic(), Pipeline(augmented()), sampler(), {.batch_size = 8, .workers = 1});
  const auto expected = by_sample(alone);
  ASSERT_EQ(static_cast<std::int64_t>(expected.size()), kSize);
  for (const int ranks : {1, 2, 3}) {
    std::map<std::int64_t, at::Tensor> together;
    for (int rank = 0; rank < ranks; ++rank) {
      Loader loader(synthetic(), Pipeline(augmented()), sampler(rank, ranks), {.batch_size = 5, .workers = 4});
      together.merge(by_sample(loader));
    }
    EXPECT_TRUE(equal(together, expected)) << ranks << " ranks";
  }
}

TEST(PictureLoader, EveryEpochAugmentsAnew) {
  Loader loader(synthetic(), Pipeline(augmented()), sampler());
  const auto first = by_sample(loader);
  loader.set_epoch(1);
  EXPECT_FALSE(equal(by_sample(loader), first));
  loader.set_epoch(0);
  EXPECT_TRUE(equal(by_sample(loader), first));
}

TEST(PictureLoader, BatchesAreChannelsLastWithLabels) {
  const auto pictures = synthetic();
  Loader loader(pictures, Pipeline(augmented()), sampler(), {.batch_size = 7});
  const Batch batch = *loader.next();
  EXPECT_EQ(batch.data.sizes(), at::IntArrayRef({7, 3, 32, 32}));
  EXPECT_TRUE(batch.data.is_contiguous(at::MemoryFormat::ChannelsLast));
  for (std::int64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(batch.target[i].item<std::int64_t>(), pictures->get(batch.samples[static_cast<std::size_t>(i)]).label);
  }
}

TEST(PictureLoader, BytesAreThePixels) {
  const auto pictures = synthetic(4);
  Loader loader(pictures, Pipeline({}), sampler(), {.batch_size = 1, .type = at::kByte});
  const Batch batch = *loader.next();
  const Picture picture = pictures->get(batch.samples[0]);
  const at::Tensor rows = batch.data[0].permute({1, 2, 0}).contiguous();
  EXPECT_TRUE(
      std::equal(picture.bytes.begin(), picture.bytes.end(), static_cast<const std::byte*>(rows.const_data_ptr())));
}

TEST(PictureLoader, EmptyBatchOfAnUnevenTailHasTheTypesOfTheOthers) {
  // 50 samples over 49 batches of one: the last step has one sample for 49 ranks.
  Loader loader(synthetic(), Pipeline({}), sampler(48, 49), {.batch_size = 1, .mixing = {.mix_up = 0.2}});
  const Batch first = *loader.next(), last = *loader.next();
  EXPECT_EQ(last.data.sizes(), at::IntArrayRef({0, 3, 32, 32}));
  EXPECT_EQ(last.target.sizes(), at::IntArrayRef({0, 5}));
  EXPECT_EQ(last.target.scalar_type(), first.target.scalar_type());
}

TEST(PictureLoader, SamplerOfAnotherSizeIsRefused) {
  EXPECT_THROW(Loader(synthetic(), Pipeline({}), DistributedSampler(kSize + 1, {})), UsageError);
}

TEST(PictureLoader, MixedBatchesHaveSoftLabelsAndDependOnNoWorker) {
  for (const Mixing& mixing : {Mixing{.mix_up = 0.2}, Mixing{.mix_up = 0.2, .cut_mix = 1}, Mixing{.cut_mix = 1}}) {
    const LoaderOptions options{.batch_size = 10, .workers = 1, .mixing = mixing};
    Loader loader(synthetic(), Pipeline({}), sampler(), options);
    LoaderOptions with_more = options;
    with_more.workers = 4;
    Loader other(synthetic(), Pipeline({}), sampler(), with_more);
    while (const auto batch = loader.next()) {
      const Batch same = *other.next();
      EXPECT_TRUE(batch->data.equal(same.data));
      EXPECT_TRUE(batch->target.equal(same.target));
      ASSERT_EQ(batch->target.sizes(), at::IntArrayRef({batch->data.size(0), 5}));
      EXPECT_TRUE(at::allclose(batch->target.sum(1), at::ones({batch->data.size(0)})));
    }
  }
}

// A folder of two classes with good pictures, into which bad ones can be put.
class FolderLoader : public ::testing::Test {
 protected:
  FolderLoader() {
    for (const char* name : {"a/0.jpg", "a/1.jpg", "b/0.jpg", "b/1.jpg"}) put("good/420.jpg", name);
  }
  void put(const std::string& from, const std::string& name) {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    std::filesystem::copy_file(test::source_path("tests/data/pictures") / from, folder_.path() / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  Loader loader(LoaderOptions options = {}, Transforms transforms = {resize(ImageSize{16, 16})}) {
    auto pictures = std::make_shared<ImageFolder>(folder_.path());
    const std::int64_t size = pictures->size();
    options.batch_size = 1;
    return Loader(std::move(pictures), Pipeline(std::move(transforms)),
                  DistributedSampler(size, {}, {.order = Order::kSequential}), options);
  }
  static std::string first_error(Loader& loader) {
    try {
      while (loader.next()) continue;
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  test::TemporaryFolder folder_;
};

TEST_F(FolderLoader, BadFilesAreNamed) {
  for (const char* broken : {"truncated.jpg", "page.jpg", "empty.jpg", "bomb.jpg", "noise.jpg", "gif.jpg"}) {
    put(std::string("broken/") + broken, "b/0.jpg");
    Loader loading = loader();
    EXPECT_THAT(first_error(loading), HasSubstr("b/0.jpg")) << broken;
  }
}

TEST_F(FolderLoader, BadFilesAreSkippedWhenAllowed) {
  put("broken/truncated.jpg", "a/1.jpg");
  put("broken/bomb.jpg", "b/1.jpg");
  Loader loading = loader({.on_error = OnError::kSkip});
  std::vector<std::int64_t> samples;
  while (const auto batch = loading.next()) samples.insert(samples.end(), batch->samples.begin(), batch->samples.end());
  EXPECT_THAT(samples, ::testing::ElementsAre(0, 2, 2, 0));
  EXPECT_EQ(loading.stats().bad, 2);
}

TEST_F(FolderLoader, FirstFileMayBeBadWhenBadOnesAreSkipped) {
  put("broken/truncated.jpg", "a/0.jpg");
  Loader loading = loader({.on_error = OnError::kSkip}, {});
  EXPECT_THAT(loading.next()->samples, ::testing::ElementsAre(1));
}

TEST_F(FolderLoader, FileThatVanishesInAnEpochIsNamed) {
  Loader loading = loader({.prefetch = 1});
  EXPECT_TRUE(loading.next());
  std::filesystem::remove(folder_.path() / "b/1.jpg");
  EXPECT_THAT(first_error(loading), HasSubstr("b/1.jpg"));
}

TEST_F(FolderLoader, PicturesOfDifferentSizesNeedATransformThatMakesThemOne) {
  put("good/exif_1.jpg", "b/1.jpg");
  Loader loading = loader({}, {});
  EXPECT_THAT(first_error(loading), AllOf(HasSubstr("b/1.jpg"), HasSubstr("64 x 48"), HasSubstr("61 x 47")));
  Loader resizing = loader();
  EXPECT_EQ(first_error(resizing), "nothing was thrown");
}

// Each of them reads all pictures at once, with threads of its own.
class DecodedFolder : public FolderLoader {
 protected:
  std::shared_ptr<const PictureSet> decode(const DecodingOptions& options = {}) {
    return decoded_in_memory(std::make_shared<ImageFolder>(folder_.path()), options);
  }
  DeviceLoader on_device(const DecodingOptions& options = {}) {
    const ImageFolder pictures(folder_.path());
    return DeviceLoader(pictures, {}, DistributedSampler(pictures.size(), {}, {.order = Order::kSequential}), 64,
                        at::kCPU, options);
  }
};

TEST_F(DecodedFolder, HoldsPixelsUnderTheNamesOfTheFiles) {
  const auto pictures = decode();
  EXPECT_EQ(pictures->size(), 4);
  EXPECT_EQ(pictures->name(2), "b/0.jpg");
  EXPECT_EQ(pictures->get(2).label, 1);
  EXPECT_EQ(pictures->get(2).form, Picture::Form::kPixels);
  EXPECT_EQ(pictures->get(2).bytes.size(), 61U * 47 * 3);
}

TEST_F(DecodedFolder, FirstBadPictureIsNamedWhateverTheNumberOfThreads) {
  for (int i = 0; i < 200; ++i) put("good/420.jpg", "c/" + std::to_string(1000 + i) + ".jpg");
  for (const char* name : {"c/1040.jpg", "c/1100.jpg", "c/1199.jpg"}) put("broken/truncated.jpg", name);
  for (const int workers : {1, 2, 8, 0}) {
    EXPECT_THAT([&] { decode({.workers = workers}); }, test::ThrowsWith<SampleError>("c/1040.jpg")) << workers;
    EXPECT_THAT([&] { on_device({.workers = workers}); }, test::ThrowsWith<SampleError>("c/1040.jpg")) << workers;
  }
}

TEST_F(DecodedFolder, NextGoodPictureStandsInForABadOne) {
  put("good/444.jpg", "b/0.jpg");
  put("broken/truncated.jpg", "a/1.jpg");
  const auto pictures = decode({.on_error = OnError::kSkip});
  EXPECT_EQ(pictures->get(1).label, 1);
  EXPECT_EQ(pictures->get(1).bytes.data(), pictures->get(2).bytes.data());
  const Batch batch = *on_device({.on_error = OnError::kSkip}).next();
  EXPECT_EQ(batch.target[1].item<std::int64_t>(), 1);
  EXPECT_TRUE(batch.data[1].equal(batch.data[2]));
  EXPECT_FALSE(batch.data[1].equal(batch.data[0]));
}

TEST_F(DecodedFolder, SetWithoutAGoodPictureIsRefused) {
  for (const char* name : {"a/0.jpg", "a/1.jpg", "b/0.jpg", "b/1.jpg"}) put("broken/truncated.jpg", name);
  EXPECT_THAT([&] { decode({.on_error = OnError::kSkip}); }, test::ThrowsWith<UsageError>("no sample of the data set"));
}

TEST_F(DecodedFolder, SetThatIsTooLargeIsRefusedBeforeItIsDecoded) {
  const std::uint64_t needed = 4 * 61 * 47 * 3;
  EXPECT_EQ(decode({.most_bytes = needed})->size(), 4);
  EXPECT_THAT([&] { decode({.most_bytes = needed - 1}); }, test::ThrowsWith<UsageError>("do not fit into memory"));
}

TEST_F(DecodedFolder, DeviceTakesPicturesOfOneSize) {
  put("good/exif_1.jpg", "b/1.jpg");
  EXPECT_THAT([&] { on_device(); }, test::ThrowsWith<UsageError>("b/1.jpg is not as large as the pictures before it"));
  EXPECT_EQ(decode()->get(3).width, 64);
}

TEST(DecodedPictures, PixelsStayWhereTheyAre) {
  const auto pictures = synthetic();
  EXPECT_EQ(decoded_in_memory(pictures)->get(7).bytes.data(), pictures->get(7).bytes.data());
}

class PaddedOnDevice : public ::testing::TestWithParam<PadMode> {};

TEST_P(PaddedOnDevice, GivesWhatALoaderGives) {
  const Transforms transforms = {pad({.padding = {2, 0, 1, 3}, .mode = GetParam()}),
                                 random_crop({.size = {28, 30}, .padding = {4, 4, 4, 4}, .mode = GetParam()}),
                                 random_horizontal_flip(),
                                 random_vertical_flip(),
                                 normalize({.mean = {0.5, 0.4, 0.3}, .deviation = {0.2, 0.25, 0.3}}),
                                 random_erasing({.value = {0.1, 0.2, 0.3}})};
  const auto pictures = synthetic();
  DeviceLoader on_device(*pictures, transforms, sampler(), 8, at::kCPU);
  Loader loader(pictures, Pipeline(transforms), sampler(), {.batch_size = 8});
  for (int epoch = 0; epoch < 2; ++epoch) {
    on_device.set_epoch(epoch);
    loader.set_epoch(epoch);
    while (const auto expected = loader.next()) {
      const Batch batch = *on_device.next();
      EXPECT_EQ(batch.samples, expected->samples);
      EXPECT_TRUE(batch.target.equal(expected->target));
      EXPECT_TRUE(batch.data.is_contiguous(at::MemoryFormat::ChannelsLast));
      // One multiplies and adds what the other subtracts and divides: some units in the last place.
      EXPECT_TRUE(at::allclose(batch.data, expected->data, 1e-5, 1e-5));
    }
    EXPECT_FALSE(on_device.next());
  }
}

INSTANTIATE_TEST_SUITE_P(DeviceLoader, PaddedOnDevice,
                         ::testing::Values(PadMode::kConstant, PadMode::kEdge, PadMode::kReflect, PadMode::kSymmetric));

class MixedOnDevice : public ::testing::TestWithParam<Mixing> {};

TEST_P(MixedOnDevice, GivesWhatALoaderGives) {
  const Transforms transforms = {random_horizontal_flip(), normalize({.mean = {0.5}, .deviation = {0.2}})};
  const auto pictures = synthetic();
  DeviceLoader on_device(*pictures, transforms, sampler(), 8, at::kCPU, {}, GetParam());
  Loader loader(pictures, Pipeline(transforms), sampler(), {.batch_size = 8, .mixing = GetParam()});
  int mixed = 0, whole = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    on_device.set_epoch(epoch);
    loader.set_epoch(epoch);
    while (const auto expected = loader.next()) {
      const Batch batch = *on_device.next();
      EXPECT_TRUE(at::allclose(batch.target, expected->target, 1e-6, 1e-6));
      EXPECT_TRUE(at::allclose(batch.data, expected->data, 1e-5, 1e-5));
      ++(batch.target.count_nonzero().item<std::int64_t>() > batch.data.size(0) ? mixed : whole);
    }
  }
  // A few look whole because the labels that were mixed are the same.
  EXPECT_GT(mixed, 0);
  EXPECT_EQ(whole > mixed / 2, GetParam().chance < 1) << whole << " of " << whole + mixed;
}

INSTANTIATE_TEST_SUITE_P(DeviceLoader, MixedOnDevice,
                         ::testing::Values(Mixing{.mix_up = 1}, Mixing{.cut_mix = 1}, Mixing{.mix_up = 1, .cut_mix = 1},
                                           Mixing{.cut_mix = 1, .chance = 0.5}),
                         [](const auto& mixing) {
                           const std::string by = mixing.param.mix_up > 0 ? "MixUp" : "";
                           return by + (mixing.param.cut_mix > 0 ? "CutMix" : "") +
                                  (mixing.param.chance < 1 ? "ByChance" : "");
                         });

TEST(DeviceLoader, RefusesToMixByAChanceThatIsNone) {
  EXPECT_THAT([&] { DeviceLoader(*synthetic(), {}, sampler(), 8, at::kCPU, {}, {.cut_mix = 1, .chance = 0}); },
              test::ThrowsWith<UsageError>("cannot be mixed with this chance"));
  EXPECT_THAT([&] { Loader(synthetic(), Pipeline({}), sampler(), {.mixing = {.cut_mix = 1, .chance = 1.5}}); },
              test::ThrowsWith<UsageError>("cannot be mixed with this chance"));
}

TEST(DeviceLoader, RefusesWhatADeviceDoesNotDoEvenWhenItSeldomHappens) {
  const std::vector<Transforms> refused = {
      {color_jitter({.brightness = Range{0.5, 1.5}})},
      {grayscale(3)},
      {rand_augment({})},
      {random_erasing({.probability = 0.01, .noise = true})},
      {random_erasing({.probability = 0.01}), random_erasing({.probability = 0.01})},
      {pad({.padding = {1, 1, 1, 1}, .fill = {1, 2, 3}})}};
  for (const Transforms& transforms : refused) {
    try {
      DeviceLoader(*synthetic(), transforms, sampler(), 8, at::kCPU);
      FAIL() << "nothing was thrown";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("only cropped, flipped"));
    }
  }
}

TEST(DeviceLoader, TakesGrayPictures) {
  const Transforms transforms = {grayscale(), random_horizontal_flip(), normalize({})};
  DeviceLoader on_device(*synthetic(), transforms, sampler(), 8, at::kCPU);
  Loader loader(synthetic(), Pipeline(transforms), sampler(), {.batch_size = 8});
  EXPECT_TRUE(at::allclose(on_device.next()->data, loader.next()->data, 1e-5, 1e-5));
}

}  // namespace
}  // namespace lockstep::data
