#include <lockstep/nn/weights_file.h>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/nn/registry.h>

#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::nn {
namespace {

std::filesystem::path made(const std::string& name) {
  return test::source_path("tests/data/torch") / name;
}

TEST(WeightsFile, EveryTypeIsTheTensorThatPyTorchSaved) {
  for (const auto& [name, tensor] : read_weights(made("types.pt"))) {
    EXPECT_EQ(tensor.sizes(), at::IntArrayRef({2})) << name;
    EXPECT_TRUE(tensor.to(torch::kComplexDouble).equal(torch::tensor({0, 1}, torch::kComplexDouble))) << name;
  }
}

TEST(WeightsFile, TensorsOutliveTheFileThatTheyCameFrom) {
  const NamedState state = read_weights(made("layouts.pt"));
  ASSERT_EQ(state.size(), 9);
  EXPECT_EQ(state[2].first, "channels_last");
  EXPECT_TRUE(state[2].second.equal(torch::arange(24, torch::kFloat).reshape({2, 3, 2, 2})));
}

TEST(WeightsFile, AModelIsTheSameAfterItsWeightsWentThroughAFile) {
  const test::TemporaryFolder folder;
  const auto first = make_model("mnist"), second = make_model("mnist");
  std::vector<data::TensorBytes> tensors;
  const NamedState own = state_of_model(*first);
  for (const auto& [name, tensor] : own) {
    const bool is_count = tensor.scalar_type() == torch::kLong;
    tensors.push_back({.name = name,
                       .type = is_count ? data::ElementType::kInt64 : data::ElementType::kFloat32,
                       .shape = tensor.sizes().vec(),
                       .bytes = {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}});
  }
  for (const char* file : {"a.pt", "a.safetensors"}) {
    checkpoint::write_weights(folder.path() / file, tensors);
    load_state(*second, read_weights(folder.path() / file));
    const NamedState other = state_of_model(*second);
    for (std::size_t i = 0; i < own.size(); ++i) EXPECT_TRUE(own[i].second.equal(other[i].second)) << own[i].first;
  }
}

}  // namespace
}  // namespace lockstep::nn
