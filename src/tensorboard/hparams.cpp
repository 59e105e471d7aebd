#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "plugins.pb.h"
#include "summaries.h"
#include "summary_message.h"
#include "tag.h"

namespace lockstep::tensorboard {
namespace {

proto::Value value_of(const HparamValue& from) {
  proto::Value value;
  if (const auto* const flag = std::get_if<bool>(&from)) value.set_bool_value(*flag);
  if (const auto* const whole = std::get_if<std::int64_t>(&from)) value.set_number_value(static_cast<double>(*whole));
  if (const auto* const number = std::get_if<double>(&from)) value.set_number_value(*number);
  if (const auto* const text = std::get_if<std::string>(&from)) value.set_string_value(clean_text(*text));
  return value;
}

proto::HparamType type_of(const HparamValue& value) {
  constexpr proto::HparamType kTypes[] = {proto::DATA_TYPE_BOOL, proto::DATA_TYPE_FLOAT64, proto::DATA_TYPE_FLOAT64,
                                          proto::DATA_TYPE_STRING};
  return kTypes[value.index()];
}

void fill_domain(proto::HparamInfo& info, const HparamValue& value, const HparamOptions& options) {
  const auto domain = options.domains.find(info.name());
  if (domain == options.domains.end()) return;
  for (const HparamValue& possible : domain->second) {
    if (possible.index() != value.index()) {
      throw UsageError(fmt::format("the values that '{}' may have are not all of the type that it has", info.name()));
    }
    *info.mutable_domain_discrete()->add_values() = value_of(possible);
  }
}

EventBody summary_with(const char* tag, const proto::HparamsPluginData& data) {
  proto::Summary summary = summary_of(tag);
  set_plugin(*summary.mutable_value(0), "hparams", data.SerializeAsString());
  return body_of(std::move(summary));
}

}  // namespace

std::vector<EventBody> hparams_summaries(const Hparams& hparams, const std::map<std::string, double>& metrics,
                                         const HparamOptions& options) {
  for (const auto& [name, values] : options.domains) {
    if (!hparams.contains(name))
      throw UsageError(fmt::format("there are possible values for '{}', but no hyperparameter of that name", name));
  }
  proto::HparamsPluginData experiment, start, end;
  start.mutable_session_start_info();
  experiment.mutable_experiment();
  for (const auto& [given, value] : hparams) {
    const std::string name = clean_tag(given, TagCharacters::kPrintable);
    (*start.mutable_session_start_info()->mutable_hparams())[name] = value_of(value);
    proto::HparamInfo& info = *experiment.mutable_experiment()->add_hparam_infos();
    info.set_name(name);
    info.set_type(type_of(value));
    fill_domain(info, value, options);
  }
  for (const auto& [tag, value] : metrics) {
    experiment.mutable_experiment()->add_metric_infos()->mutable_name()->set_tag(clean_tag(tag, TagCharacters::kName));
  }
  end.mutable_session_end_info()->set_status(proto::STATUS_SUCCESS);
  return {summary_with("_hparams_/experiment", experiment), summary_with("_hparams_/session_start_info", start),
          summary_with("_hparams_/session_end_info", end)};
}

}  // namespace lockstep::tensorboard
