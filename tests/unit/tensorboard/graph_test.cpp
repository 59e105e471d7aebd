#include <lockstep/tensorboard/summary_writer.h>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/registry.h>

#include "run_reader.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::tensorboard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

struct NetImpl : torch::nn::Module {
  NetImpl() {
    body = register_module(
        "body", torch::nn::Sequential(torch::nn::Conv2d(3, 8, 3), torch::nn::BatchNorm2d(8), torch::nn::ReLU()));
    head = register_module("head", torch::nn::Linear(8, 10));
  }
  at::Tensor forward(const at::Tensor& input) { return head->forward(body->forward(input).mean({2, 3})); }
  torch::nn::Sequential body{nullptr};
  torch::nn::Linear head{nullptr};
};
TORCH_MODULE(Net);

std::vector<GraphNode> graph_of(auto& module, const at::Tensor& example) {
  const test::TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  writer.add_graph(module, example);
  writer.close();
  return test::read_run(folder.path()).graphs.at(0);
}

const GraphNode& node_named(const std::vector<GraphNode>& graph, const std::string& name) {
  const auto found = std::ranges::find(graph, name, &GraphNode::name);
  if (found == graph.end()) throw std::runtime_error("no node " + name);
  return *found;
}

TEST(Graph, HasOperationsInTheScopesOfTheirModules) {
  Net net;
  const auto graph = graph_of(*net, torch::zeros({2, 3, 6, 6}));
  std::vector<std::string> names;
  for (const GraphNode& node : graph) names.push_back(node.name);
  EXPECT_THAT(names, Contains("Net/Sequential[body]/Conv2d[0]/weight"));
  EXPECT_THAT(names, Contains("Net/Sequential[body]/BatchNorm2d[1]/running_mean"));
  EXPECT_THAT(names, Contains("Net/Sequential[body]/relu"));
  EXPECT_THAT(names, Contains("Net/mean"));
  const GraphNode& linear = node_named(graph, "Net/Linear[head]/addmm");
  EXPECT_EQ(linear.op, "aten::addmm");
  EXPECT_THAT(linear.inputs, ElementsAre("Net/Linear[head]/bias", "Net/mean", "Net/Linear[head]/t"));
  EXPECT_EQ(linear.shape, (std::vector<std::int64_t>{2, 10}));
  EXPECT_THAT(node_named(graph, "output/output.1").inputs, ElementsAre(linear.name));
}

TEST(Graph, EveryInputIsANode) {
  for (const std::string name : {"resnet18", "mnist", "lstm"}) {
    const auto model = nn::make_model(name);
    std::vector<std::int64_t> shape = model->input_shape();
    shape.insert(shape.begin(), 2);
    const auto graph = graph_of(*model, torch::zeros(shape));
    std::set<std::string> names;
    for (const GraphNode& node : graph) EXPECT_TRUE(names.insert(node.name).second) << node.name;
    for (const GraphNode& node : graph) {
      for (const std::string& input : node.inputs)
        EXPECT_TRUE(names.contains(input.substr(0, input.find(':')))) << input;
    }
  }
}

TEST(Graph, LeavesTheModuleAsItWas) {
  Net net;
  net->head->eval();
  const auto before = net->body[1]->as<torch::nn::BatchNorm2d>()->running_mean.clone();
  graph_of(*net, torch::ones({2, 3, 6, 6}));
  EXPECT_TRUE(net->is_training());
  EXPECT_TRUE(net->body->is_training());
  EXPECT_FALSE(net->head->is_training());
  EXPECT_TRUE(net->body[1]->as<torch::nn::BatchNorm2d>()->running_mean.equal(before));
}

TEST(Graph, OfAnExampleThatDoesNotFit_IsRefused_AndTheNextOneWorks) {
  const test::TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  Net net;
  EXPECT_THAT(
      [&] {
        writer.add_graph(*net, torch::zeros({2, 5, 6, 6}));
      },
      test::ThrowsWith<UsageError>("cannot be traced"));
  EXPECT_TRUE(net->is_training());
  writer.add_graph(*net, torch::zeros({2, 3, 6, 6}));
}

}  // namespace
}  // namespace lockstep::tensorboard
