// CIFAR's files in both forms; tests/data/make_cifar.py has written them.
#include <lockstep/data/cifar.h>

#include <gmock/gmock.h>

#include "data/cifar_batch.h"
#include "source_path.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::ThrowsWith;
using ::testing::ElementsAre;

std::filesystem::path examples() {
  return test::source_path("tests/data/cifar");
}

std::vector<std::uint8_t> copy(std::span<const std::uint8_t> pixels) {
  return {pixels.begin(), pixels.end()};
}

std::vector<std::int64_t> labels(const PixelSet& set) {
  return {set.labels().begin(), set.labels().end()};
}

TEST(Cifar, BothFormsHoldTheSamePictures) {
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const PixelSet binary = read_cifar10(examples() / "cifar-10-batches-bin", split);
    const PixelSet python = read_cifar10(examples() / "cifar-10-batches-py", split);
    EXPECT_EQ(copy(binary.pixels()), copy(python.pixels()));
    EXPECT_EQ(labels(binary), labels(python));
    EXPECT_EQ(binary.classes(), python.classes());
    for (const CifarLabels kind : {CifarLabels::kFine, CifarLabels::kCoarse}) {
      const PixelSet binary100 = read_cifar100(examples() / "cifar-100-binary", split, kind);
      const PixelSet python100 = read_cifar100(examples() / "cifar-100-python", split, kind);
      EXPECT_EQ(copy(binary100.pixels()), copy(python100.pixels()));
      EXPECT_EQ(labels(binary100), labels(python100));
      EXPECT_EQ(binary100.classes(), python100.classes());
    }
  }
}

TEST(Cifar, FindsTheFolderInsideTheOneThatIsNamed) {
  const PixelSet set = read_cifar10(examples(), Split::kTrain);
  EXPECT_EQ(set.size(), 5);
  EXPECT_THAT(labels(set), ElementsAre(0, 3, 6, 9, 2));
  EXPECT_EQ(set.classes()[9], "class9");
  EXPECT_EQ(set.name(3), "data_batch_4.bin, image 0");
  EXPECT_THAT(labels(read_cifar100(examples(), Split::kTrain)), ElementsAre(93, 92));
  EXPECT_THAT(labels(read_cifar100(examples(), Split::kTrain, CifarLabels::kCoarse)), ElementsAre(13, 12));
  EXPECT_EQ(read_cifar100(examples(), Split::kTrain).name(1), "train.bin, image 1");
}

TEST(Cifar, PlanesBecomePixels) {
  std::string file(1, '\x04');
  for (std::size_t i = 0; i < kCifarPicture; ++i) file += static_cast<char>(i / kCifarPlane * 50 + i % 50);
  CifarPictures pictures;
  append_cifar_binary(std::as_bytes(std::span(file)), {}, "file", pictures);
  ASSERT_EQ(pictures.pixels.size(), kCifarPicture);
  for (std::size_t i = 0; i < kCifarPicture; ++i) {
    const std::size_t color = i % 3, place = i / 3;
    EXPECT_EQ(pictures.pixels[i], color * 50 + (color * kCifarPlane + place) % 50);
  }
  EXPECT_THAT(pictures.labels, ElementsAre(4));
}

TEST(Cifar, ReadsWhatTodaysPythonWrites) {
  const PixelSet expected = read_cifar10(examples() / "cifar-10-batches-py", Split::kTest);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(examples() / "modern")) {
    const std::string content = test::content(entry.path());
    CifarPictures pictures;
    append_cifar_pickle(std::as_bytes(std::span(content)), {}, entry.path().string(), pictures);
    EXPECT_EQ(pictures.pixels, copy(expected.pixels())) << entry.path();
    EXPECT_EQ(pictures.labels, labels(expected)) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 8);
}

class BrokenCifar : public ::testing::Test {
 protected:
  BrokenCifar() { std::filesystem::copy(examples(), folder_.path(), std::filesystem::copy_options::recursive); }

  auto reading(const char* form, Split split = Split::kTrain) {
    return [=, this] { read_cifar10(folder_.path() / form, split); };
  }
  test::TemporaryFolder folder_;
};

constexpr const char* kBinary = "cifar-10-batches-bin";
constexpr const char* kPython = "cifar-10-batches-py";

TEST_F(BrokenCifar, NamesTheFileThatIsMissing) {
  std::filesystem::remove(folder_.path() / kBinary / "data_batch_3.bin");
  EXPECT_THAT(reading(kBinary), ThrowsWith<UsageError>("data_batch_3.bin"));
  std::filesystem::remove(folder_.path() / kPython / "batches.meta");
  EXPECT_THAT(reading(kPython), ThrowsWith<UsageError>("batches.meta"));
  EXPECT_THAT(reading("modern"), ThrowsWith<UsageError>("lockstep data fetch cifar10"));
}

TEST_F(BrokenCifar, FindsTruncationAtEveryLength) {
  const std::string binary = test::content(folder_.path() / kBinary / "test_batch.bin");
  const std::string python = test::content(folder_.path() / kPython / "test_batch");
  CifarPictures pictures;
  for (std::size_t length = 0; length < binary.size(); ++length) {
    EXPECT_THROW(append_cifar_binary(std::as_bytes(std::span(binary)).first(length), {}, "f", pictures), UsageError);
  }
  for (std::size_t length = 0; length < python.size(); ++length) {
    EXPECT_THROW(append_cifar_pickle(std::as_bytes(std::span(python)).first(length), {}, "f", pictures), UsageError);
  }
  EXPECT_TRUE(pictures.labels.empty());
}

TEST_F(BrokenCifar, RefusesALabelThatIsNoClass) {
  std::string content = test::content(folder_.path() / kBinary / "data_batch_2.bin");
  content[0] = 10;
  folder_.write(std::string(kBinary) + "/data_batch_2.bin", content);
  EXPECT_THAT(reading(kBinary), ThrowsWith<UsageError>("data_batch_2.bin' has a label that is no class"));
  content = test::content(folder_.path() / kPython / "data_batch_2");
  content.replace(content.find("K\x03"), 2, "K\x0a");
  folder_.write(std::string(kPython) + "/data_batch_2", content);
  EXPECT_THAT(reading(kPython), ThrowsWith<UsageError>("data_batch_2' has a label that is no class"));
}

TEST_F(BrokenCifar, RefusesFilesThatAreSomethingElse) {
  folder_.write(std::string(kBinary) + "/data_batch_1.bin", "<!DOCTYPE html>");
  EXPECT_THAT(reading(kBinary), ThrowsWith<UsageError>("no file of CIFAR's"));
  folder_.write(std::string(kPython) + "/data_batch_1", "<!DOCTYPE html>");
  EXPECT_THAT(reading(kPython), ThrowsWith<UsageError>("is not followed"));
  folder_.write(std::string(kBinary) + "/data_batch_1.bin", "");
  EXPECT_THAT(reading(kBinary), ThrowsWith<UsageError>("0 bytes"));
  folder_.write(std::string(kBinary) + "/batches.meta.txt", "cat\ndog\n");
  EXPECT_THAT(reading(kBinary, Split::kTest), ThrowsWith<UsageError>("another number of classes"));
}

}  // namespace
}  // namespace lockstep::data
