#include <chrono>

#include <ATen/Parallel.h>
#include <ATen/ops/add.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

#include <lockstep/bench/operations.h>

#include "../kernels/cpu/products.h"
#include "../kernels/parallel.h"

namespace lockstep::bench {
namespace {

// The fastest of a few.
template <typename Body>
double seconds_of(const Body& body) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTimes = 10;
  double best = 0;
  for (int i = 0; i < kTimes; ++i) {
    const auto began = Clock::now();
    body();
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    if (i == 0 || seconds < best) best = seconds;
  }
  return best;
}

// Our own product on every thread, of matrices of its own that stay in its core's caches.
double gigaflops_of_products() {
  const kernels::Products& products = *kernels::products();
  const std::int64_t rows = 4 * products.row_tile, depth = 256, times = 200;
  const int threads = at::get_num_threads();
  const at::Tensor a = at::full({rows, depth}, 0.5), b = at::full({depth, products.panel}, 0.5);
  const at::Tensor sums = at::full({threads, rows, products.panel}, 0.0);
  const double seconds = seconds_of([&] {
    kernels::parallel_for(0, threads, 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<const float*> from;
      std::vector<float*> to;
      for (std::int64_t i = 0; i < rows; ++i) {
        from.push_back(a.const_data_ptr<float>() + i * depth);
        to.push_back(sums.mutable_data_ptr<float>() + (begin * rows + i) * products.panel);
      }
      for (std::int64_t i = 0; i < (end - begin) * times; ++i) {
        products.multiply_rows({.a = from.data(),
                                .rows = rows,
                                .depth = depth,
                                .b = b.const_data_ptr<float>(),
                                .c = to.data(),
                                .columns = products.panel});
      }
    });
  });
  return 2.0 * static_cast<double>(threads * times * rows * depth * products.panel) / seconds / 1e9;
}

double gigaflops_of_libtorch() {
  const at::Tensor matrix = at::full({512, 512}, 0.5);
  at::Tensor result = at::full({512, 512}, 0.0);
  return 2.0 * 512 * 512 * 512 / seconds_of([&] { at::mm_out(result, matrix, matrix); }) / 1e9;
}

}  // namespace

Peaks measure_peaks() {
  constexpr std::int64_t kFloats = std::int64_t{1} << 25;
  const at::Tensor a = at::full({kFloats}, 1.0), b = at::full({kFloats}, 2.0);
  at::Tensor c = at::full({kFloats}, 0.0);
  const double floats = static_cast<double>(kFloats) * sizeof(float);
  const double adding = 3 * floats / seconds_of([&] { at::add_out(c, a, b); });
  const double reading = floats / seconds_of([&] { at::sum(a); });
  return {.gigaflops = kernels::products() != nullptr ? gigaflops_of_products() : gigaflops_of_libtorch(),
          .gigabytes = std::max(adding, reading) / 1e9};
}

}  // namespace lockstep::bench
