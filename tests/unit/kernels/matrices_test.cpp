#include "kernels/cpu/matrices.h"

#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "same_on_threads.h"

namespace lockstep::kernels {
namespace {

struct Case {
  std::int64_t rows, depth, columns;
};

constexpr Case kCases[] = {{1, 1, 1},     {15, 7, 33},    {14, 513, 32},   {100, 1030, 70}, {3, 300, 1100},
                           {600, 20, 40}, {29, 256, 512}, {257, 257, 257}, {2, 2000, 5}};

// A few roundings of float32 in the largest sum.
void expect_near(const at::Tensor& found, const at::Tensor& wanted) {
  const double error = (found - wanted).abs().max().item<double>();
  EXPECT_LT(error, 4e-6 * wanted.abs().max().item<double>());
}

class Matrices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (products() == nullptr) GTEST_SKIP() << "this CPU has not even AVX2";
    at::manual_seed(3);
  }
};

TEST_F(Matrices, AreMultiplied) {
  for (const auto& [rows, depth, columns] : kCases) {
    SCOPED_TRACE(c10::str(rows, " x ", depth, " x ", columns));
    const at::Tensor a = at::randn({rows, depth}), b = at::randn({depth, columns});
    const at::Tensor wanted = at::mm(a.to(at::kDouble), b.to(at::kDouble));
    const at::Tensor c = at::full({rows, columns}, 7.0);
    multiply(view(a), packed(b), writable(c), /*accumulate=*/false);
    expect_near(c, wanted);
    multiply(view(a), packed_transposed(b.t().contiguous()), writable(c), /*accumulate=*/true);
    expect_near(c, 2 * wanted);
  }
}

TEST_F(Matrices, AreMultipliedTransposed_EvenOutOfWiderOnes) {
  for (const auto& [rows, depth, columns] : kCases) {
    SCOPED_TRACE(c10::str(rows, " x ", depth, " x ", columns));
    const at::Tensor a = at::randn({depth, rows + 3}).slice(1, 3),
                     b = at::randn({depth, columns + 5}).slice(1, 0, columns);
    const at::Tensor all = at::full({rows, columns + 4}, 7.0), c = all.slice(1, 0, columns);
    multiply_transposed(view(a), view(b), writable(c));
    expect_near(c, at::mm(a.t().to(at::kDouble), b.to(at::kDouble)));
    EXPECT_TRUE(all.slice(1, columns).eq(7).all().item<bool>()) << "what stands beside it is as it was";
  }
}

TEST_F(Matrices, OfNoRowsGiveZeros) {
  const at::Tensor c = at::full({5, 40}, 7.0);
  multiply_transposed(view(at::randn({0, 5})), view(at::randn({0, 40})), writable(c));
  EXPECT_TRUE(c.eq(0).all().item<bool>());
}

TEST_F(Matrices, HaveSumsOfColumns) {
  for (const std::int64_t columns : {1, 31, 32, 700}) {
    const at::Tensor matrix = at::randn({600, columns});
    expect_near(column_sums(view(matrix)), matrix.to(at::kDouble).sum(0));
  }
}

TEST_F(Matrices, DoNotDependOnTheNumberOfThreads) {
  const at::Tensor a = at::randn({333, 600}), b = at::randn({600, 777}), d = at::randn({333, 777});
  expect_same_on_any_threads([&] {
    const at::Tensor product = at::full({333, 777}, 0.0), transposed = at::full({600, 777}, 0.0);
    multiply(view(a), packed(b), writable(product), /*accumulate=*/false);
    multiply_transposed(view(a), view(d), writable(transposed));
    return std::vector<at::Tensor>{product, transposed, column_sums(view(a))};
  });
}

}  // namespace
}  // namespace lockstep::kernels
