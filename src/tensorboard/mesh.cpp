#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>

#include "plugins.pb.h"
#include "summaries.h"
#include "summary_message.h"
#include "tag.h"

namespace lockstep::tensorboard {
namespace {

using Content = proto::MeshPluginData;

struct NamedPart {
  Content::ContentType type;
  const char* name;
  const MeshPart& part;
};

std::string checked_config(const std::string& config) {
  if (config.empty()) return "{}";
  const auto value = nlohmann::json::parse(config, nullptr, /*allow_exceptions=*/false);
  if (value.is_object()) return config;
  throw UsageError({.message = "the config of a mesh is no JSON object", .found = config.substr(0, 200)});
}

void add_part(proto::Summary& summary, const NamedPart& named, Content content) {
  const std::array<std::int64_t, 3> shape = {named.part.batch, named.part.count, 3};
  content.set_content_type(named.type);
  for (const std::int64_t size : shape) content.add_shape(static_cast<std::int32_t>(size));
  proto::Summary::Value& value = *summary.add_value();
  value.set_tag(fmt::format("{}_{}", content.name(), named.name));
  set_plugin(value, "mesh", content.SerializeAsString());
  proto::Tensor& tensor = *value.mutable_tensor();
  tensor.set_dtype(proto::DT_FLOAT);
  for (const std::int64_t size : shape) tensor.mutable_tensor_shape()->add_dim()->set_size(size);
  tensor.mutable_float_val()->Assign(named.part.values.begin(), named.part.values.end());
}

}  // namespace

EventBody mesh_summary(const std::string& tag, const Mesh& mesh) {
  const std::array<NamedPart, 3> parts = {{{Content::VERTEX, "VERTEX", mesh.vertices},
                                           {Content::FACE, "FACE", mesh.faces},
                                           {Content::COLOR, "COLOR", mesh.colors}}};
  Content content;
  content.set_name(clean_tag(tag, TagCharacters::kPrintable));
  content.set_json_config(checked_config(mesh.config));
  std::uint32_t components = 0;
  for (const NamedPart& named : parts) {
    if (!named.part.values.empty()) components |= 1U << named.type;
  }
  content.set_components(components);
  proto::Summary summary;
  for (const NamedPart& named : parts) {
    if (!named.part.values.empty()) add_part(summary, named, content);
  }
  return body_of(std::move(summary));
}

}  // namespace lockstep::tensorboard
