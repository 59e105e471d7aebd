#pragma once
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

namespace lockstep::kernels {

// Runs it on 1, 2 and 3 threads, and expects the same bits.
template <typename Run>
void expect_same_on_any_threads(Run run) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<at::Tensor> one = run();
  for (const int threads : {2, 3}) {
    at::set_num_threads(threads);
    const std::vector<at::Tensor> more = run();
    EXPECT_EQ(one.size(), more.size());
    for (std::size_t i = 0; i < one.size() && i < more.size(); ++i) {
      EXPECT_TRUE(at::equal(one[i], more[i])) << "result " << i << " on " << threads << " threads";
    }
  }
  at::set_num_threads(before);
}

}  // namespace lockstep::kernels
