// TorchScript files as models.
#include <fstream>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/model_state.h>
#include <lockstep/nn/registry.h>

#include "script_net.h"

namespace lockstep::nn {
namespace {

using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ModelOptions kInput{.input_shape = {4}};

std::string refusal(const std::string& path, const ModelOptions& options = kInput) {
  try {
    make_model(path, options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ScriptModel, HasItsTensorsByTheirNamesAndFindsItsClasses) {
  const TemporaryFolder folder;
  const auto model = make_model(test::write_script_net(folder), kInput);
  EXPECT_THAT(model->named_parameters().keys(), ElementsAre("fc.weight"));
  EXPECT_THAT(model->named_buffers().keys(), ElementsAre("scale"));
  EXPECT_THAT(model->input_shape(), ElementsAre(4));
  EXPECT_EQ(model->num_classes(), 3);
  EXPECT_EQ(classifier_of(*model), "fc.");
}

TEST(ScriptModel, LearnsThroughTheTensorsThatItShows) {
  const TemporaryFolder folder;
  const auto model = make_model(test::write_script_net(folder), kInput);
  const at::Tensor input = torch::randn({8, 4}), before = model->forward(input).detach();
  model->forward(input).square().mean().backward();
  torch::optim::SGD(model->parameters(), 0.1).step();
  EXPECT_FALSE(model->forward(input).equal(before));
  model->to(at::kDouble);
  EXPECT_EQ(model->forward(input.to(at::kDouble)).scalar_type(), at::kDouble);
}

TEST(ScriptModel, TrainsAndEvaluatesAsItIsTold) {
  const TemporaryFolder folder;
  const auto model = make_model(test::write_script_net(folder), kInput);
  const at::Tensor input = torch::randn({2, 4}), training = model->forward(input);
  model->eval();
  EXPECT_TRUE(training.allclose(model->forward(input) + 1));
  model->train();
  EXPECT_TRUE(training.equal(model->forward(input)));
}

TEST(ScriptModel, ClonesFromMemoryAndSharesNothing) {
  const TemporaryFolder folder;
  const std::string path = test::write_script_net(folder);
  const auto model = make_model(path, kInput);
  std::filesystem::remove(path);
  model->eval();
  model->parameters().front().requires_grad_(false);
  const auto copy = std::dynamic_pointer_cast<Model>(model->clone());
  const at::Tensor input = torch::randn({2, 4});
  EXPECT_TRUE(copy->forward(input).equal(model->forward(input)));
  EXPECT_FALSE(copy->parameters().front().requires_grad());
  copy->parameters().front().data().zero_();
  EXPECT_TRUE(copy->forward(input).equal(torch::zeros({2, 3})));
  EXPECT_FALSE(model->forward(input).equal(torch::zeros({2, 3})));
}

TEST(ScriptModel, TakesAndGivesItsState) {
  const TemporaryFolder folder;
  const auto model = make_model(test::write_script_net(folder), kInput);
  NamedState state = state_of_model(*model);
  state[0].second = torch::ones({3, 4});
  load_state(*model, state);
  model->eval();
  EXPECT_TRUE(model->forward(torch::ones({1, 4})).equal(torch::full({1, 3}, 8.0)));
}

TEST(ScriptModel, RefusesAnInputOrAnOutputThatDoesNotFit) {
  const TemporaryFolder folder;
  const std::string path = test::write_script_net(folder);
  EXPECT_THAT(refusal(path, {}), AllOf(HasSubstr("2 x 3 x 224 x 224"), HasSubstr("input_shape")));
  EXPECT_THAT(refusal(path, {.num_classes = 5, .input_shape = {4}}), AllOf(HasSubstr("classes"), HasSubstr("5")));
  EXPECT_THAT(refusal(path, {.stem = Stem::kCifar}), HasSubstr("no stem"));
  EXPECT_THAT(refusal(test::write_script_net(folder, "(x, x)")), HasSubstr("Tuple"));
  EXPECT_THAT(refusal(test::write_script_net(folder, "x.sum()")), HasSubstr("an output of shape []"));
}

TEST(ScriptModel, SaysWhatAFileIsThatItCannotRun) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal(folder.path() / "none.pt"), HasSubstr("there is no file"));
  EXPECT_THAT(refusal(folder.path() / "resnet50.pt"), HasSubstr("the name of a model"));
  EXPECT_THAT(refusal(folder.write("old.pt", "\x80\x02}q")), HasSubstr("a pickle"));
  EXPECT_THAT(refusal(folder.write("text.pt", "hello")), HasSubstr("another kind"));
  EXPECT_THAT(refusal(folder.write("empty.pt", "")), HasSubstr("another kind"));

  const std::vector<char> weights = torch::pickle_save(c10::IValue(torch::zeros({3})));
  std::ofstream(folder.path() / "weights.pt", std::ios::binary).write(weights.data(), std::ssize(weights));
  EXPECT_THAT(refusal(folder.path() / "weights.pt"), AllOf(HasSubstr("without code"), HasSubstr("torch.jit.script")));

  const std::string whole = test::content(test::write_script_net(folder));
  for (const std::size_t size : {whole.size() / 2, whole.size() - 1}) {
    EXPECT_THAT(refusal(folder.write("cut.pt", whole.substr(0, size))), HasSubstr("is damaged")) << size;
  }
}

}  // namespace
}  // namespace lockstep::nn
