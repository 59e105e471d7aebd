#pragma once
#include <vector>

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

namespace lockstep::test {

// On average over the parameters, relative to each.
inline double gradient_error(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& wanted) {
  EXPECT_EQ(found.size(), wanted.size());
  double sum = 0;
  for (std::size_t i = 0; i < found.size() && i < wanted.size(); ++i) {
    sum += ((found[i] - wanted[i]).norm() / (wanted[i].norm() + 1e-12)).item<double>();
  }
  return sum / static_cast<double>(found.size());
}

}  // namespace lockstep::test
