// State by name, in and out.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/adam.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/optim/named_state.h>

#include "parameters.h"
#include "throws_with.h"

namespace lockstep::test {
namespace {

using optim::load_named_state;
using optim::make_optimizer;
using optim::named_state;
using optim::NamedState;
using ::testing::ElementsAre;
using ::testing::Pair;

using Names = torch::OrderedDict<std::string, torch::Tensor>;

std::vector<optim::ParameterGroup> groups_of(const std::vector<torch::Tensor>& parameters) {
  return {{.name = "all", .parameter_names = {}, .parameters = parameters}};
}

std::vector<std::string> keys(const auto& map) {
  std::vector<std::string> result;
  for (const auto& [key, value] : map) result.push_back(key);
  return result;
}

// One step of Adam.
struct Fixture {
  torch::nn::Linear model{2, 3};
  Names names = model->named_parameters();
  std::unique_ptr<torch::optim::Optimizer> optimizer =
      make_optimizer("adam", optim::parameter_groups(*model), {.lr = 0.1, .betas = {{0.7, 0.9}}});
  Fixture() {
    model->forward(torch::ones({1, 2})).sum().backward();
    optimizer->step();
  }
  NamedState state() const { return named_state(*optimizer, names); }
};

TEST(NamedState, HasPythonsNamesAndOptionsAsText) {
  const Fixture fixture;
  const auto state = fixture.state();
  EXPECT_THAT(keys(state.tensors), ElementsAre("bias.exp_avg", "bias.exp_avg_sq", "bias.step", "weight.exp_avg",
                                               "weight.exp_avg_sq", "weight.step"));
  EXPECT_EQ(state.tensors.at("weight.step").item<double>(), 1);
  EXPECT_THAT(state.values,
              ElementsAre(Pair("group.0.amsgrad", "false"), Pair("group.0.betas", "0.7, 0.9"),
                          Pair("group.0.eps", "1e-08"), Pair("group.0.lr", "0.1"), Pair("group.0.weight_decay", "0"),
                          Pair("group.1.amsgrad", "false"), Pair("group.1.betas", "0.7, 0.9"),
                          Pair("group.1.eps", "1e-08"), Pair("group.1.lr", "0.1"), Pair("group.1.weight_decay", "0"),
                          Pair("groups", "2"), Pair("optimizer", "adam"), Pair("parameters_with_state", "2")));
}

class NamedStateOf : public ::testing::TestWithParam<const char*> {};

TEST_P(NamedStateOf, GoesOnAsIfNothingHadHappenedInAnotherOrder) {
  auto first = make_parameters(false), second = make_parameters(false);
  const auto straight = make_optimizer(GetParam(), groups_of(first), {.lr = 0.1, .weight_decay = 0.01});
  const auto loaded = make_optimizer(GetParam(), groups_of({second.rbegin(), second.rend()}));
  for (int i = 0; i < 3; ++i) {
    set_gradients(first, i);
    straight->step();
  }
  load_named_state(*loaded, numbered(second), named_state(*straight, numbered(first)));
  for (std::size_t i = 0; i < first.size(); ++i) second[i].data().copy_(first[i].data());
  for (int i = 3; i < 6; ++i) {
    set_gradients(first, i);
    set_gradients(second, i);
    straight->step();
    loaded->step();
  }
  EXPECT_TRUE(all_equal(copies_of(first), copies_of(second)));
}

INSTANTIATE_TEST_SUITE_P(Every, NamedStateOf, ::testing::Values("sgd", "adam", "adamw", "lars", "lamb"),
                         [](const auto& each) { return std::string(each.param); });

TEST(NamedState, GoesBetweenOursAndLibtorchs) {
  Fixture fixture;
  torch::optim::Adam theirs(
      std::vector<torch::optim::OptimizerParamGroup>{{{fixture.model->weight}}, {{fixture.model->bias}}});
  load_named_state(theirs, fixture.names, fixture.state());
  const auto state = named_state(theirs, fixture.names);
  EXPECT_EQ(state.values, fixture.state().values);
  for (const auto& [name, tensor] : fixture.state().tensors) EXPECT_TRUE(tensor.equal(state.tensors.at(name))) << name;
}

TEST(NamedState, ALoadedTensorIsACopy) {
  Fixture fixture;
  const auto state = fixture.state();
  load_named_state(*fixture.optimizer, fixture.names, state);
  state.tensors.at("weight.exp_avg").fill_(77);
  EXPECT_NE(fixture.state().tensors.at("weight.exp_avg")[0][0].item<double>(), 77);
}

TEST(NamedState, OfAnOptimizerBeforeItsFirstStepIsOptionsAlone) {
  const auto parameters = make_parameters();
  const auto optimizer = make_optimizer("sgd", groups_of(parameters), {.momentum = 0.9});
  const auto state = named_state(*optimizer, numbered(parameters));
  EXPECT_THAT(state.tensors, ::testing::IsEmpty());
  load_named_state(*optimizer, numbered(parameters), state);
}

TEST(NamedState, RefusesWhatDoesNotFitAndChangesNothing) {
  Fixture fixture;
  const auto refused = [&](const auto& change, const char* words) {
    auto state = fixture.state();
    for (auto& [name, tensor] : state.tensors) tensor = tensor + 1;
    change(state);
    EXPECT_THAT([&] { load_named_state(*fixture.optimizer, fixture.names, state); }, ThrowsWith<UsageError>(words));
    EXPECT_EQ(fixture.state().tensors.at("weight.step").item<double>(), 1);
    EXPECT_EQ(fixture.optimizer->param_groups()[0].options().get_lr(), 0.1);
  };
  refused([](NamedState& state) { state.tensors.erase("bias.exp_avg"); }, "no 'bias.exp_avg'");
  refused([](NamedState& state) { state.tensors.erase("bias.step"); }, "no 'bias.step'");
  refused(
      [](NamedState& state) {
        for (const char* entry : {"bias.exp_avg", "bias.exp_avg_sq", "bias.step"}) state.tensors.erase(entry);
      },
      "lacks parameters");
  refused([](NamedState& state) { state.tensors["head.exp_avg"] = torch::ones({2}); }, "head.exp_avg");
  refused([](NamedState& state) { state.tensors["weight.exp_avg"] = torch::ones({2}); }, "[3, 2]");
  refused([](NamedState& state) { state.values["optimizer"] = "sgd"; }, "another optimizer");
  refused([](NamedState& state) { state.values["groups"] = "3"; }, "'groups' differs");
  refused([](NamedState& state) { state.values.erase("group.1.lr"); }, "'group.1.lr'");
  refused([](NamedState& state) { state.values["group.1.lr"] = "fast"; }, "cannot be read");
  refused([](NamedState& state) { state.values["group.0.momentum"] = "0"; }, "does not know");
}

TEST(NamedState, EveryParameterMustHaveAName) {
  const Fixture fixture;
  Names weight_alone;
  weight_alone.insert("weight", fixture.model->weight);
  EXPECT_THAT([&] { named_state(*fixture.optimizer, weight_alone); }, ThrowsWith<UsageError>("has no name"));
}

TEST(NamedState, OfAnotherKindOfOptimizerIsRefused) {
  const Fixture fixture;
  torch::optim::RMSprop other(fixture.model->parameters());
  EXPECT_THAT([&] { named_state(other, fixture.names); }, ThrowsWith<UsageError>("kind of optimizer"));
}

}  // namespace
}  // namespace lockstep::test
