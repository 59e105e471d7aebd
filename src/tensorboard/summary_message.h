// What the functions of summaries.h have in common, as messages of protobuf.
#pragma once
#include <string>
#include <utility>

#include "event.pb.h"
#include "event_body.h"

namespace lockstep::tensorboard {

inline EventBody body_of(proto::Summary summary) {
  proto::Event event;
  *event.mutable_summary() = std::move(summary);
  return {event.SerializeAsString()};
}

// A summary of one value with this tag.
inline proto::Summary summary_of(const std::string& tag) {
  proto::Summary summary;
  summary.add_value()->set_tag(tag);
  return summary;
}

// Says which plugin a value is for.
inline proto::Summary::Value& set_plugin(proto::Summary::Value& value, const std::string& plugin, std::string content) {
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name(plugin);
  value.mutable_metadata()->mutable_plugin_data()->set_content(std::move(content));
  return value;
}

}  // namespace lockstep::tensorboard
