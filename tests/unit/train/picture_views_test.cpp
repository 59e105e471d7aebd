#include <lockstep/train/picture_views.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "throws_with.h"

namespace lockstep::train {
namespace {

using test::ThrowsWith;

at::Tensor same(const at::Tensor& pictures) {
  return pictures;
}

TEST(PictureViews, OfNoneButThePictureLeaveTheOutputsAsTheyAre) {
  const at::Tensor rows = at::arange(6, at::kFloat).view({2, 3});  // no pictures, and need not be any
  EXPECT_TRUE(mean_over_views({}, rows, same).equal(rows));
}

TEST(PictureViews, WithMirrorImagesAreTwo) {
  const at::Tensor picture = at::tensor({1.F, 2.F, 5.F}).view({1, 1, 1, 3});
  EXPECT_TRUE(mean_over_views({.mirror = true}, picture, same).flatten().equal(at::tensor({3.F, 2.F, 3.F})));
}

TEST(PictureViews, ThatAreMovedHaveReflectedBorders) {
  // Each pixel becomes the mean of the nine around it: in a row, of (18 0 18), (0 18 36) and (18 36 18).
  const at::Tensor picture = at::tensor({0.F, 18.F, 36.F}).expand({3, 3}).reshape({1, 1, 3, 3});
  const at::Tensor expected = at::tensor({12.F, 18.F, 24.F}).expand({3, 3});
  EXPECT_TRUE(mean_over_views({.shift = 1}, picture, same)[0][0].equal(expected));
  int passes = 0;
  mean_over_views({.mirror = true, .shift = 1}, picture, [&](const at::Tensor& view) {
    ++passes;
    return view;
  });
  EXPECT_EQ(passes, 18);
}

TEST(PictureViews, KeepTheLayout) {
  const at::Tensor pictures = at::ones({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  mean_over_views({.mirror = true, .shift = 2}, pictures, [&](const at::Tensor& view) {
    EXPECT_TRUE(view.is_contiguous(at::MemoryFormat::ChannelsLast));
    return view;
  });
}

TEST(PictureViews, AreRefusedWhereThereAreNone) {
  EXPECT_THAT([] { require_views({.mirror = true}, {32, 128}); }, ThrowsWith<UsageError>("samples of 2 dimensions"));
  EXPECT_THAT([] { require_views({.shift = 28}, {1, 28, 30}); }, ThrowsWith<UsageError>("pictures of 28 x 30 pixels"));
  EXPECT_THAT([] { require_views({.shift = -1}, {1, 28, 28}); }, ThrowsWith<UsageError>("less than 0"));
}

}  // namespace
}  // namespace lockstep::train
