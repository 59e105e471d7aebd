#include "run_reader.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "event.pb.h"
#include "graph.pb.h"
#include "plugins.pb.h"
#include "tensorboard/event_reader.h"

namespace lockstep::test {
namespace {

namespace proto = tensorboard::proto;

ReadValue value_of(const proto::Event& event, const proto::Summary::Value& from) {
  ReadValue value{.tag = from.tag(),
                  .plugin = from.metadata().plugin_data().plugin_name(),
                  .plugin_content = from.metadata().plugin_data().content(),
                  .step = event.step(),
                  .time = event.wall_time(),
                  .scalar = from.simple_value()};
  const proto::Histogram& histogram = from.histo();
  value.histogram = {histogram.min(),
                     histogram.max(),
                     histogram.num(),
                     histogram.sum(),
                     histogram.sum_squares(),
                     {histogram.bucket_limit().begin(), histogram.bucket_limit().end()},
                     {histogram.bucket().begin(), histogram.bucket().end()}};
  value.width = from.image().width(), value.height = from.image().height(), value.channels = from.image().colorspace();
  if (from.has_image()) value.bytes = from.image().encoded_image_string();
  if (from.has_audio()) {
    value.bytes = from.audio().encoded_audio_string();
    value.sample_rate = from.audio().sample_rate();
    value.shape = {from.audio().length_frames(), from.audio().num_channels()};
  }
  if (from.has_tensor()) {
    for (const auto& dimension : from.tensor().tensor_shape().dim()) value.shape.push_back(dimension.size());
    value.numbers.assign(from.tensor().float_val().begin(), from.tensor().float_val().end());
    if (from.tensor().string_val_size() > 0) value.bytes = from.tensor().string_val(0);
  }
  return value;
}

std::vector<tensorboard::GraphNode> graph_of(const std::string& bytes) {
  proto::GraphDef graph;
  if (!graph.ParseFromString(bytes)) throw std::runtime_error("no graph");
  std::vector<tensorboard::GraphNode> nodes;
  for (const proto::NodeDef& from : graph.node()) {
    tensorboard::GraphNode& node = nodes.emplace_back();
    node.name = from.name(), node.op = from.op();
    node.inputs = {from.input().begin(), from.input().end()};
    const auto attribute = from.attr().find("attr"), shape = from.attr().find("_output_shapes");
    if (attribute != from.attr().end()) node.attributes = attribute->second.s();
    if (shape == from.attr().end()) continue;
    node.shape.emplace();
    for (const auto& dimension : shape->second.list().shape(0).dim()) node.shape->push_back(dimension.size());
  }
  return nodes;
}

}  // namespace

ReadRun read_run(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ReadRun run;
  for (const auto& file : files) {
    const tensorboard::EventFileContent content = tensorboard::read_events(file);
    if (!content.problem.empty()) throw std::runtime_error(file.string() + ": " + content.problem);
    for (const proto::Event& event : content.events) {
      for (const proto::Summary::Value& value : event.summary().value()) run.values.push_back(value_of(event, value));
      if (event.what_case() == proto::Event::kGraphDef) run.graphs.push_back(graph_of(event.graph_def()));
      if (event.session_log().status() == proto::SessionLog::START) run.purged_from = event.step();
    }
  }
  return run;
}

ReadHparams read_hparams(const ReadRun& run) {
  ReadHparams read;
  for (const ReadValue& value : run.values) {
    proto::HparamsPluginData data;
    if (value.plugin != "hparams" || !data.ParseFromString(value.plugin_content)) continue;
    for (const auto& [name, from] : data.session_start_info().hparams()) {
      using Kind = proto::Value::KindCase;
      if (from.kind_case() == Kind::kBoolValue) read.hparams[name] = from.bool_value();
      if (from.kind_case() == Kind::kNumberValue) read.hparams[name] = from.number_value();
      if (from.kind_case() == Kind::kStringValue) read.hparams[name] = from.string_value();
    }
    for (const auto& metric : data.experiment().metric_infos()) read.metrics.push_back(metric.name().tag());
    read.success |= data.session_end_info().status() == proto::STATUS_SUCCESS;
  }
  return read;
}

std::vector<std::string> read_layout(const ReadValue& value) {
  proto::Layout layout;
  if (!layout.ParseFromString(value.bytes)) throw std::runtime_error("no layout");
  std::vector<std::string> charts;
  for (const proto::Category& category : layout.category()) {
    for (const proto::Chart& chart : category.chart()) {
      std::string tags = fmt::format("{}", fmt::join(chart.multiline().tag(), " "));
      for (const auto& series : chart.margin().series())
        tags += fmt::format("{} between {} and {}", series.value(), series.lower(), series.upper());
      charts.push_back(fmt::format("{}/{}: {}", category.title(), chart.title(), tags));
    }
  }
  return charts;
}

}  // namespace lockstep::test
