#include "onnx_graph.h"

#include <limits>

#include <fmt/format.h>

#include <lockstep/base/damaged_file.h>
#include <lockstep/base/mapped_file.h>

#include "event.pb.h"
#include "graph.pb.h"
#include "onnx.pb.h"
#include "tag.h"

namespace lockstep::tensorboard {
namespace {

constexpr int kProducer = 22;  // the version of TensorFlow's graphs that tensorboardX claims

void add_variable(proto::GraphDef& graph, const onnx::ValueInfo& value) {
  proto::NodeDef& node = *graph.add_node();
  node.set_name(clean_text(value.name()));
  node.set_op("Variable");
  (*node.mutable_attr())["dtype"].set_type(value.type().tensor_type().elem_type());
  proto::TensorShape& shape = *(*node.mutable_attr())["shape"].mutable_shape();
  for (const auto& dimension : value.type().tensor_type().shape().dim())
    shape.add_dim()->set_size(dimension.dim_value());
}

std::string text_of(const onnx::Attribute& attribute) {
  if (attribute.has_f()) return fmt::format("{} = {}", attribute.name(), attribute.f());
  if (attribute.has_i()) return fmt::format("{} = {}", attribute.name(), attribute.i());
  if (attribute.has_s()) return fmt::format("{} = {}", attribute.name(), attribute.s());
  if (attribute.ints_size() > 0) return fmt::format("{} = [{}]", attribute.name(), fmt::join(attribute.ints(), ", "));
  if (attribute.floats_size() > 0)
    return fmt::format("{} = [{}]", attribute.name(), fmt::join(attribute.floats(), ", "));
  if (attribute.strings_size() > 0)
    return fmt::format("{} = [{}]", attribute.name(), fmt::join(attribute.strings(), ", "));
  return attribute.name();
}

void add_operation(proto::GraphDef& graph, const onnx::Node& operation) {
  proto::NodeDef& node = *graph.add_node();
  node.set_name(clean_text(operation.output_size() > 0 ? operation.output(0) : operation.op_type()));
  node.set_op(clean_text(operation.op_type()));
  for (const std::string& input : operation.input()) node.add_input(clean_text(input));
  std::string attributes;
  for (const onnx::Attribute& attribute : operation.attribute()) {
    attributes += (attributes.empty() ? "" : ", ") + text_of(attribute);
  }
  (*node.mutable_attr())["parameters"].set_s(clean_text(attributes));
}

}  // namespace

EventBody onnx_graph_event(const std::filesystem::path& file) {
  const MappedFile mapped = map_file(file);
  onnx::Model model;
  if (mapped.bytes.size() > std::numeric_limits<int>::max()) {
    throw damaged_file(file.string(), "is larger than an ONNX file can be",
                       fmt::format("{} bytes", mapped.bytes.size()),
                       "less than 2 GiB, with weights in files of their own");
  }
  if (!model.ParseFromArray(mapped.bytes.data(), static_cast<int>(mapped.bytes.size())) || !model.has_graph()) {
    throw damaged_file(file.string(), "is no ONNX model");
  }
  proto::GraphDef graph;
  graph.mutable_versions()->set_producer(kProducer);
  for (const onnx::ValueInfo& input : model.graph().input()) add_variable(graph, input);
  for (const onnx::ValueInfo& output : model.graph().output()) add_variable(graph, output);
  for (const onnx::Node& operation : model.graph().node()) add_operation(graph, operation);
  proto::Event event;
  event.set_graph_def(graph.SerializeAsString());
  return {event.SerializeAsString()};
}

}  // namespace lockstep::tensorboard
