#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "plugins.pb.h"
#include "summaries.h"
#include "summary_message.h"
#include "tag.h"

namespace lockstep::tensorboard {
namespace {

void fill(proto::Chart& chart, const CustomChart& from) {
  chart.set_title(clean_tag(from.title, TagCharacters::kPrintable));
  std::vector<std::string> tags;
  for (const std::string& tag : from.tags) tags.push_back(clean_tag(tag, TagCharacters::kPrintable));
  if (from.kind == CustomChart::Kind::kMultiline) {
    for (const std::string& tag : tags) chart.mutable_multiline()->add_tag(tag);
    return;
  }
  if (tags.size() != 3) {
    throw UsageError({.message = fmt::format("the margin chart '{}' needs three tags", chart.title()),
                      .found = fmt::format("{}", tags.size()),
                      .expected = "those of the value, the lower and the upper bound"});
  }
  proto::MarginChartContent::Series& series = *chart.mutable_margin()->add_series();
  series.set_value(tags[0]);
  series.set_lower(tags[1]);
  series.set_upper(tags[2]);
}

}  // namespace

EventBody custom_scalars_summary(const std::vector<CustomCategory>& layout) {
  proto::Layout written;
  for (const CustomCategory& category : layout) {
    proto::Category& added = *written.add_category();
    added.set_title(clean_tag(category.title, TagCharacters::kPrintable));
    for (const CustomChart& chart : category.charts) fill(*added.add_chart(), chart);
  }
  proto::Summary summary = summary_of("custom_scalars__config__");
  set_plugin(*summary.mutable_value(0), "custom_scalars", "");
  proto::Tensor& tensor = *summary.mutable_value(0)->mutable_tensor();
  tensor.set_dtype(proto::DT_STRING);
  tensor.mutable_tensor_shape();
  tensor.add_string_val(written.SerializeAsString());
  return body_of(std::move(summary));
}

}  // namespace lockstep::tensorboard
