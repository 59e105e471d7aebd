#include <lockstep/data/open_pictures.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <lockstep/data/tools/catalog.h>

#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::data {
namespace {

std::filesystem::path cifar() {
  return test::source_path("tests/data/cifar");
}

class OpenPictures : public ::testing::Test {
 protected:
  // Two pictures to train with and one to test with.
  void write_mnist() const {
    for (const auto& [prefix, count] : {std::pair{"train", '\2'}, std::pair{"t10k", '\1'}}) {
      std::string images("\0\0\x08\x03\0\0\0\0\0\0\0\x1c\0\0\0\x1c", 16), labels("\0\0\x08\x01\0\0\0\0", 8);
      images[7] = labels[7] = count;
      images.append(static_cast<std::size_t>(count) * 28 * 28, 'x');
      labels.append(static_cast<std::size_t>(count), '\7');
      folder_.write(fmt::format("{}-images-idx3-ubyte", prefix), images);
      folder_.write(fmt::format("{}-labels-idx1-ubyte", prefix), labels);
    }
  }

  const test::TemporaryFolder folder_;
};

TEST_F(OpenPictures, OpensEveryFolderThatFetchNames) {
  write_mnist();
  for (const RemoteSet& set : built_in_sets()) {
    const std::filesystem::path path = (set.folder.empty() ? folder_.path() : cifar()) / set.folder;
    EXPECT_TRUE(has_splits(path)) << path;
    EXPECT_NE(open_pictures(path, Split::kTrain)->size(), open_pictures(path, Split::kTest)->size()) << path;
  }
}

TEST_F(OpenPictures, OpensBothFormsOfCifar) {
  for (const char* folder : {"cifar-10-batches-bin", "cifar-10-batches-py", "cifar-100-binary", "cifar-100-python"}) {
    const bool ten = std::string(folder).find("-10-") != std::string::npos;
    EXPECT_EQ(open_pictures(cifar() / folder)->classes().size(), ten ? 10U : 100U) << folder;
  }
}

TEST_F(OpenPictures, ClassesMayHaveTheNamesOfCifarsFiles) {
  for (const char* name : {"meta", "train"}) {
    std::filesystem::create_directories(folder_.path() / name);
    folder_.write(std::string(name) + "/1.jpg", "x");
  }
  EXPECT_FALSE(has_splits(folder_.path()));
  EXPECT_EQ(open_pictures(folder_.path())->size(), 2);
}

}  // namespace
}  // namespace lockstep::data
