#include <lockstep/data/pipeline.h>

#include <cstdlib>
#include <filesystem>
#include <new>

#include <gmock/gmock.h>

#include <lockstep/base/files.h>

#include "source_path.h"

namespace {

// Counts what is taken from the heap by this thread while it is not null.
thread_local int* counted_allocations = nullptr;

}  // namespace

void* operator new(std::size_t size) {
  if (counted_allocations != nullptr) ++*counted_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace lockstep::data {
namespace {

using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;

const Normalization kNormalization = {.mean = {0.5, 0.25, 0}, .deviation = {0.5, 0.25, 1}};

// Pixels with their picture.
struct Pixels {
  Pixels(int width, int height, int channels, std::uint64_t seed = 1)
      : bytes(static_cast<std::size_t>(width * height * channels)) {
    RandomStream random(seed, 0, 0);
    for (std::byte& value : bytes) value = static_cast<std::byte>(random.below(256));
    picture = {.form = Picture::Form::kPixels, .bytes = bytes, .width = width, .height = height, .channels = channels};
  }
  float at(std::size_t i) const { return static_cast<float>(bytes[i]); }

  std::vector<std::byte> bytes;
  Picture picture;
};

ImageSize size_of(const Picture& picture) {
  return picture.form == Picture::Form::kPixels ? ImageSize{picture.width, picture.height}
                                                : picture_size(picture.bytes);
}

template <typename Number = float>
std::vector<Number> run(const Pipeline& pipeline, const Picture& picture, Pipeline::Scratch& scratch,
                        std::uint64_t sample = 0) {
  const ImageSize size = pipeline.output_size(size_of(picture));
  std::vector<Number> slot(static_cast<std::size_t>(size.width * size.height * pipeline.channels()));
  pipeline.run(picture, RandomStream(1, 2, sample), scratch, std::span(slot));
  return slot;
}

template <typename Number = float>
std::vector<Number> run(const Pipeline& pipeline, const Picture& picture, std::uint64_t sample = 0) {
  Pipeline::Scratch scratch;
  return run<Number>(pipeline, picture, scratch, sample);
}

Transforms everything() {
  return {random_resized_crop({.size = {40, 40}}),
          random_horizontal_flip(),
          rand_augment({}),
          color_jitter({.brightness = Range{0.5, 1.5}, .hue = Range{-0.2, 0.2}}),
          random_rotation({.degrees = {-20, 20}, .interpolation = Interpolation::kBilinear}),
          random_crop({.size = {32, 32}, .padding = {2, 2, 2, 2}, .mode = PadMode::kReflect}),
          normalize(kNormalization),
          random_erasing({.noise = true})};
}

TEST(Pipeline, WithoutTransformsDividesBy255) {
  const Pixels pixels(5, 4, 3);
  const Floats found = run(Pipeline({}), pixels.picture);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_FLOAT_EQ(found[i], pixels.at(i) / 255);
}

TEST(Pipeline, NormalizesEachChannel) {
  const Pixels pixels(37, 2, 3);
  const Floats found = run(Pipeline({normalize(kNormalization)}), pixels.picture);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double mean = kNormalization.mean[i % 3], deviation = kNormalization.deviation[i % 3];
    ASSERT_NEAR(found[i], (pixels.at(i) / 255 - mean) / deviation, 1e-6);
  }
}

TEST(Pipeline, ASampleHasTheSameBitsWhateverRanBefore) {
  const Pipeline pipeline(everything());
  const Pixels small(33, 50, 3, 1), large(300, 200, 3, 2), gray(64, 48, 1, 3);
  Pipeline::Scratch used;
  std::vector<Floats> fresh, reused;
  for (std::uint64_t sample = 0; sample < 60; ++sample) {
    const Picture& picture = (sample % 3 == 0 ? small : sample % 3 == 1 ? large : gray).picture;
    reused.push_back(run(pipeline, picture, used, sample));
    fresh.push_back(run(pipeline, picture, sample));
  }
  EXPECT_EQ(fresh, reused);
}

TEST(Pipeline, OneMoreTransformChangesNothingThatTheOthersDraw) {
  const Pixels pixels(40, 40, 3);
  const TransformPtr crop = random_crop({.size = {32, 32}}), flip = random_horizontal_flip();
  const Pipeline without({crop, flip});
  const Pipeline with({crop, flip, color_jitter({.brightness = Range{1, 1}}), random_rotation({.degrees = {0, 0}})});
  for (std::uint64_t sample = 0; sample < 30; ++sample) {
    EXPECT_EQ(run(without, pixels.picture, sample), run(with, pixels.picture, sample));
  }
}

TEST(Pipeline, TakesNoMemoryOnceItHasSeenTheLargestPicture) {
  const Pipeline pipeline(everything());
  const Pixels pixels(200, 150, 3);
  Pipeline::Scratch scratch;
  Floats slot(32 * 32 * 3);
  const auto run_all = [&] {
    for (std::uint64_t sample = 0; sample < 100; ++sample) {
      pipeline.run(pixels.picture, RandomStream(1, 2, sample), scratch, std::span(slot));
    }
  };
  run_all();
  int allocations = 0;
  counted_allocations = &allocations;
  run_all();
  counted_allocations = nullptr;
  EXPECT_EQ(allocations, 0);
}

TEST(Pipeline, BytesAreWhatFloatsAreMadeFrom) {
  const Pixels pixels(61, 47, 3);
  const Pipeline pipeline({random_resized_crop({.size = {32, 24}}), random_horizontal_flip()});
  for (std::uint64_t sample = 0; sample < 10; ++sample) {
    const Floats floats = run(pipeline, pixels.picture, sample);
    const Bytes bytes = run<std::uint8_t>(pipeline, pixels.picture, sample);
    for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_FLOAT_EQ(floats[i], static_cast<float>(bytes[i]) / 255);
  }
}

TEST(Pipeline, APictureInPlaceIsReadToItsLastByteAndNotFurther) {
  // A sanitizer sees what is read beyond the end; at each of these sizes a row ends elsewhere in its vector.
  for (int width = 1; width < 40; ++width) {
    const Pixels pixels(width, 3, 3);
    run(Pipeline({resize({17, 5}), random_horizontal_flip(1)}), pixels.picture);
    run(Pipeline({random_horizontal_flip(1)}), pixels.picture);
  }
}

TEST(Pipeline, GrayPicturesHaveThreeEqualChannelsUnlessOneIsWanted) {
  const Pixels gray(9, 7, 1);
  const Bytes three = run<std::uint8_t>(Pipeline({}), gray.picture);
  ASSERT_EQ(three.size(), 9U * 7 * 3);
  for (std::size_t i = 0; i < three.size(); ++i) ASSERT_EQ(three[i], static_cast<std::uint8_t>(gray.bytes[i / 3]));
  const Pipeline one({grayscale()});
  EXPECT_EQ(one.channels(), 1);
  const Bytes same = run<std::uint8_t>(one, gray.picture);
  EXPECT_TRUE(std::equal(same.begin(), same.end(), reinterpret_cast<const std::uint8_t*>(gray.bytes.data())));
}

TEST(Pipeline, EncodedPicturesComeOutAsTheirPixelsDo) {
  const std::filesystem::path folder = test::source_path("tests/data/pictures/good");
  const Pipeline pipeline({random_resized_crop({.size = {16, 16}, .scale = {0.3, 1}}), random_horizontal_flip()});
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = files::read(entry.path());
    const Picture encoded{.bytes = std::as_bytes(std::span(file))};
    Image image;
    decode(encoded.bytes, 3, image);
    const Picture pixels{.form = Picture::Form::kPixels,
                         .bytes = std::as_bytes(image.pixels()),
                         .width = image.width(),
                         .height = image.height(),
                         .channels = 3};
    // Larger ones are decoded at a fraction of their size, which is another picture.
    if (std::min(image.width(), image.height()) >= 32) continue;
    ++compared;
    for (std::uint64_t sample = 0; sample < 10; ++sample) {
      ASSERT_EQ(run<std::uint8_t>(pipeline, encoded, sample), run<std::uint8_t>(pipeline, pixels, sample))
          << entry.path();
    }
  }
  EXPECT_GT(compared, 0);
}

TEST(Pipeline, BadPicturesAreSampleErrors) {
  Pixels pixels(4, 4, 3);
  pixels.picture.height = 5;
  EXPECT_THROW(run(Pipeline({}), pixels.picture), SampleError);
  const std::string html = "<html>not found</html>";
  EXPECT_THROW(run(Pipeline({}), {.bytes = std::as_bytes(std::span(html))}), SampleError);
  const Pixels small(4, 4, 3);
  EXPECT_THROW(run(Pipeline({random_crop({.size = {5, 5}})}), small.picture), SampleError);
  const Pipeline growing({resize({40, 40}), color_jitter({.brightness = Range{0, 1}})}, {.pixels = 1'000});
  EXPECT_THROW(run(growing, small.picture), SampleError);
}

TEST(Pipeline, ASlotOfAnotherSizeIsRefused) {
  const Pixels pixels(4, 4, 3);
  Pipeline::Scratch scratch;
  Floats slot(47);
  EXPECT_THROW(Pipeline({}).run(pixels.picture, RandomStream(1, 2, 3), scratch, std::span(slot)), UsageError);
}

TEST(Pipeline, AnOrderThatMakesNoSenseIsRefused) {
  const TransformPtr normalized = normalize(kNormalization);
  EXPECT_THROW(Pipeline({normalized, random_horizontal_flip()}), UsageError);
  EXPECT_THROW(Pipeline({normalized, normalized}), UsageError);
  EXPECT_THROW(Pipeline({random_erasing({}), normalized}), UsageError);
  EXPECT_THROW(Pipeline({grayscale(), normalized}), UsageError);
  EXPECT_THROW(Pipeline({nullptr}), UsageError);
  const Pixels pixels(4, 4, 3);
  EXPECT_THROW(run<std::uint8_t>(Pipeline({normalized}), pixels.picture), UsageError);
}

}  // namespace
}  // namespace lockstep::data
