#include <lockstep/data/mnist.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/bincount.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "scoped_variable.h"
#include "temporary_folder.h"

namespace lockstep::data {
namespace {

using ::testing::HasSubstr;

TEST(Mnist, TheCopyThatComesAlongIsComplete) {
  const Mnist train = read_mnist(default_mnist_folder(), Split::kTrain);
  EXPECT_EQ(train.images.sizes(), (at::IntArrayRef{60000, 1, 28, 28}));
  EXPECT_EQ(at::bincount(train.labels)[1].item<std::int64_t>(), 6742);  // as its authors count the ones
  const Mnist test = read_mnist(default_mnist_folder(), Split::kTest);
  EXPECT_EQ(test.size(), 10000);
  EXPECT_EQ(test.labels[0].item<std::int64_t>(), 7);
}

TEST(Mnist, NormalizedTrainingImagesHaveMeanZeroAndDeviationOne) {
  const Mnist train = read_mnist(default_mnist_folder(), Split::kTrain);
  const at::Tensor all = train.normalized(at::arange(train.size()));
  // The constants have four digits.
  EXPECT_NEAR(all.mean().item<double>(), 0, 1e-3);
  EXPECT_NEAR(all.std().item<double>(), 1, 1e-3);
}

class BrokenMnist : public ::testing::Test {
 protected:
  // Files of `images` images of side `side`, and as many labels of value `label`.
  void write(int images, int side, int labels, int label) {
    const auto size = [](int n) { return std::string{'\0', '\0', static_cast<char>(n >> 8), static_cast<char>(n)}; };
    folder_.write("t10k-images-idx3-ubyte", std::string("\0\0\x08\x03", 4) + size(images) + size(side) + size(side) +
                                                std::string(static_cast<std::size_t>(images * side * side), 'x'));
    folder_.write("t10k-labels-idx1-ubyte",
                  std::string("\0\0\x08\x01", 4) + size(labels) +
                      std::string(static_cast<std::size_t>(labels), static_cast<char>(label)));
  }
  std::string error() {
    try {
      read_mnist(folder_.path(), Split::kTest);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  test::TemporaryFolder folder_;
};

TEST_F(BrokenMnist, ReadsUncompressedFiles) {
  write(3, 28, 3, 9);
  EXPECT_EQ(error(), "nothing was thrown");
}

TEST_F(BrokenMnist, RefusesOtherImagesOtherLabelsAndNoDigits) {
  write(3, 27, 3, 0);
  EXPECT_THAT(error(), HasSubstr("27 x 27"));
  write(3, 28, 2, 0);
  EXPECT_THAT(error(), HasSubstr("2 labels"));
  write(3, 28, 3, 10);
  EXPECT_THAT(error(), HasSubstr("no class"));
}

TEST_F(BrokenMnist, NamesTheFileThatIsMissing) {
  EXPECT_THAT(error(), HasSubstr("t10k-images-idx3-ubyte.gz"));
}

TEST(DefaultMnistFolder, CanBeNamed) {
  const test::ScopedVariable elsewhere("LOCKSTEP_DATA_DIR", "/some/where");
  EXPECT_EQ(default_mnist_folder(), "/some/where/mnist");
}

}  // namespace
}  // namespace lockstep::data
