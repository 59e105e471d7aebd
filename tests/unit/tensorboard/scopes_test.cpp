#include "tensorboard/scopes.h"

#include <gmock/gmock.h>

namespace lockstep::tensorboard {
namespace {

using ::testing::ElementsAre;

TEST(Scopes, OfAResidualNet_AreThoseOfItsModules) {
  // conv1, relu, pool; a block with a sum and an activation; pooling, flattening and a linear layer.
  const std::vector<TracedOperation> operations = {
      {.owners = {"conv1", "conv1"}, .uses_example = true},
      {.inputs = {0}, .keeps_shape = true},
      {.inputs = {1}},
      {.inputs = {2}, .owners = {"layer1.0.conv1"}},
      {.inputs = {3}, .keeps_shape = true},
      {.inputs = {4}, .owners = {"layer1.0.conv2"}},
      {.inputs = {5, 2}, .keeps_shape = true},
      {.inputs = {6}, .keeps_shape = true},
      {.inputs = {7}, .owners = {"layer1.1.conv1"}},
      {.inputs = {8, 7}, .keeps_shape = true},
      {.inputs = {9}},
      {.inputs = {10}},
      {.inputs = {11}, .owners = {"fc", "fc"}},
  };
  EXPECT_THAT(find_scopes(operations, {"conv1", "layer1.0.conv1", "layer1.0.conv2", "layer1.1.conv1", "fc"}),
              ElementsAre("conv1", "", "", "layer1.0.conv1", "layer1.0", "layer1.0.conv2", "layer1.0", "layer1.0",
                          "layer1.1.conv1", "layer1.1", "", "", "fc"));
}

TEST(Scopes, PoolingInsideOfASequence_StaysThere) {
  const std::vector<TracedOperation> operations = {
      {.owners = {"features.0"}, .uses_example = true}, {.inputs = {0}}, {.inputs = {1}, .owners = {"features.2"}}};
  EXPECT_THAT(find_scopes(operations, {"features.0", "features.2"}),
              ElementsAre("features.0", "features", "features.2"));
}

TEST(Scopes, AWeightThatIsTransposedFirst_BelongsToItsModule) {
  const std::vector<TracedOperation> operations = {{.owners = {"a.fc"}}, {.inputs = {0}, .uses_example = true}};
  EXPECT_THAT(find_scopes(operations, {"a.fc"}), ElementsAre("a.fc", "a.fc"));
}

TEST(Scopes, AnOperationOnParametersOfTwoModules_BelongsToTheOneAroundThem) {
  const std::vector<TracedOperation> operations = {{.owners = {"block.a.x", "block.ab"}}, {.owners = {"one", "two"}}};
  EXPECT_THAT(find_scopes(operations, {"block.a.x", "block.ab", "one", "two"}), ElementsAre("block", ""));
}

TEST(Scopes, OfNothing_AreNone) {
  EXPECT_TRUE(find_scopes({}, {}).empty());
  EXPECT_THAT(find_scopes({{.uses_example = true}}, {}), ElementsAre(""));
}

}  // namespace
}  // namespace lockstep::tensorboard
