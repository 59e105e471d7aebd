// Pooling by both engines, on any device.
#pragma once
#include <string>

#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <lockstep/kernels/engine.h>
#include <lockstep/kernels/pool.h>

namespace lockstep::kernels {

inline at::Tensor by_engine(Engine engine, const at::Tensor& input, const MaxPool& options) {
  set_engine(engine);
  at::Tensor output = max_pool(input, options);
  set_engine(Engine::kFused);
  return output;
}

// Expects maxima and gradients of the same bits. `input` requires gradients; `what` says which case it is. Gives the
// fused engine's maxima.
inline at::Tensor expect_pooled_alike(const at::Tensor& input, const MaxPool& options, const std::string& what) {
  at::Tensor found = by_engine(Engine::kFused, input, options);
  const at::Tensor expected = by_engine(Engine::kReference, input, options);
  EXPECT_TRUE(at::equal(found.isnan(), expected.isnan())) << what;
  EXPECT_TRUE(at::equal(found.nan_to_num(), expected.nan_to_num())) << what;
  // Small whole numbers: their sums are exact in any order, also times a slope that is a power of two.
  const at::Tensor gradient = at::randint(-8, 9, found.sizes(), found.options());
  EXPECT_TRUE(at::equal(torch::autograd::grad({found}, {input}, {gradient})[0],
                        torch::autograd::grad({expected}, {input}, {gradient})[0]))
      << what;
  return found;
}

}  // namespace lockstep::kernels
