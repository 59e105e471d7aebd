#include "graph_event.h"

#include "event.pb.h"
#include "graph.pb.h"

namespace lockstep::tensorboard {

EventBody graph_event(const std::vector<GraphNode>& nodes) {
  proto::GraphDef graph;
  graph.mutable_versions()->set_producer(22);  // a version of TensorFlow's graphs, the one that tensorboardX claims
  for (const GraphNode& node : nodes) {
    proto::NodeDef& added = *graph.add_node();
    added.set_name(node.name);
    added.set_op(node.op);
    for (const std::string& input : node.inputs) added.add_input(input);
    (*added.mutable_attr())["attr"].set_s(node.attributes);
    if (!node.shape) continue;
    proto::TensorShape& shape = *(*added.mutable_attr())["_output_shapes"].mutable_list()->add_shape();
    for (const std::int64_t size : *node.shape) shape.add_dim()->set_size(size);
  }
  proto::Event event;
  event.set_graph_def(graph.SerializeAsString());
  return {event.SerializeAsString()};
}

EventBody run_metadata_event() {
  proto::RunMetadata metadata;
  metadata.mutable_step_stats()->add_dev_stats()->set_device("/device:CPU:0");
  proto::Event event;
  event.mutable_tagged_run_metadata()->set_tag("profiler");
  event.mutable_tagged_run_metadata()->set_run_metadata(metadata.SerializeAsString());
  return {event.SerializeAsString()};
}

}  // namespace lockstep::tensorboard
