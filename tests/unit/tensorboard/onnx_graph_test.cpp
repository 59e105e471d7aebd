#include "tensorboard/onnx_graph.h"

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "event.pb.h"
#include "graph.pb.h"
#include "onnx.pb.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::tensorboard {
namespace {

onnx::Model small_model() {
  onnx::Model model;
  onnx::ValueInfo& input = *model.mutable_graph()->add_input();
  input.set_name("x");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(1);
  input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(3);
  model.mutable_graph()->add_output()->set_name("y");
  onnx::Node& node = *model.mutable_graph()->add_node();
  node.set_op_type("Conv");
  node.add_input("x");
  node.add_input("w");
  node.add_output("y");
  onnx::Attribute& attribute = *node.add_attribute();
  attribute.set_name("strides");
  attribute.add_ints(2);
  attribute.add_ints(1);
  return model;
}

TEST(OnnxGraph, HasInputsOutputsAndOperations) {
  const test::TemporaryFolder folder;
  proto::Event event;
  ASSERT_TRUE(event.ParseFromString(onnx_graph_event(folder.write("a.onnx", small_model().SerializeAsString())).bytes));
  proto::GraphDef graph;
  ASSERT_TRUE(graph.ParseFromString(event.graph_def()));
  ASSERT_EQ(graph.node_size(), 3);
  EXPECT_EQ(graph.node(0).name(), "x");
  EXPECT_EQ(graph.node(0).op(), "Variable");
  EXPECT_EQ(graph.node(0).attr().at("shape").shape().dim(0).size(), 3);
  EXPECT_EQ(graph.node(1).name(), "y");
  EXPECT_EQ(graph.node(2).op(), "Conv");
  EXPECT_THAT(graph.node(2).input(), ::testing::ElementsAre("x", "w"));
  EXPECT_EQ(graph.node(2).attr().at("parameters").s(), "strides = [2, 1]");
}

TEST(OnnxGraph, OfAnotherFile_IsRefused) {
  const test::TemporaryFolder folder;
  EXPECT_THAT([&] { onnx_graph_event(folder.path() / "none"); }, test::ThrowsWith<UsageError>("none"));
  EXPECT_THAT([&] { onnx_graph_event(folder.write("a", "no model at all")); },
              test::ThrowsWith<UsageError>("is no ONNX model"));
  EXPECT_THAT([&] { onnx_graph_event(folder.write("b", "")); }, test::ThrowsWith<UsageError>("is no ONNX model"));
  const std::string model = small_model().SerializeAsString();
  EXPECT_THAT([&] { onnx_graph_event(folder.write("c", model.substr(0, model.size() - 3))); },
              test::ThrowsWith<UsageError>("is no ONNX model"));
}

}  // namespace
}  // namespace lockstep::tensorboard
