#include "train/confusion_picture.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace lockstep::test {
namespace {

TEST(ConfusionPicture, IsDarkWhereAllOfAClassAre) {
  // Of the first class all are right, of the second a half; of the third there is none.
  const auto picture = train::confusion_picture({4, 0, 0, 1, 1, 0, 0, 0, 0});
  ASSERT_EQ(picture.sizes(), (std::vector<std::int64_t>{3, 510, 510}));
  const auto at = [&](int row, int column) {
    const auto pixel = picture.select(1, row * 170 + 85).select(1, column * 170 + 85);
    return std::vector<int>{pixel[0].item<int>(), pixel[1].item<int>(), pixel[2].item<int>()};
  };
  const std::vector<int> dark = {8, 48, 107}, white = {255, 255, 255}, half = {132, 152, 181};
  EXPECT_EQ(at(0, 0), dark);
  EXPECT_EQ(at(0, 1), white);
  EXPECT_EQ(at(1, 0), half);
  EXPECT_EQ(at(1, 1), half);
  EXPECT_EQ(at(2, 2), white);
}

TEST(ConfusionPicture, HasAPixelForEachPairOfManyClasses) {
  EXPECT_EQ(train::confusion_picture(std::vector<std::int64_t>(600 * 600)).size(1), 600);
}

TEST(ConfusionTable, NamesTheClasses) {
  const auto table = train::confusion_table({4, 0, 1, 7}, {"cat", "dog"});
  EXPECT_EQ(table, "| is \\\\ was taken for | cat | dog |\n|---|---|---|\n| **cat** | 4 | 0 |\n| **dog** | 1 | 7 |\n");
  EXPECT_FALSE(train::confusion_table(std::vector<std::int64_t>(31 * 31), {}));
}

}  // namespace
}  // namespace lockstep::test
