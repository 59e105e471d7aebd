#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "plugins.pb.h"
#include "summaries.h"
#include "summary_message.h"
#include "tag.h"

namespace lockstep::tensorboard {
namespace {

constexpr int kMostThresholds = 127;
constexpr double kLeastCount = 1e-7;  // instead of none, below a fraction

// How many lie at a threshold or above it.
void sum_from_the_end(std::vector<double>& values) {
  for (std::size_t i = values.size() - 1; i > 0; --i) values[i - 1] += values[i];
}

void require_probability(const char* what, double value) {
  if (value >= 0 && value <= 1) return;
  throw UsageError({.message = fmt::format("a {} of a PR curve is outside its range", what),
                    .found = fmt::format("{}", value),
                    .expected = "0 to 1"});
}

}  // namespace

EventBody pr_curve_summary(const std::string& tag, std::span<const double> labels, std::span<const double> predictions,
                           std::span<const double> weights, int thresholds) {
  if (labels.size() != predictions.size() || labels.size() != weights.size() || thresholds < 2) {
    throw UsageError({.message = "a PR curve needs a label and a weight for each prediction, and thresholds",
                      .found = fmt::format("{} labels, {} predictions, {} weights, {} thresholds", labels.size(),
                                           predictions.size(), weights.size(), thresholds)});
  }
  const auto count = static_cast<std::size_t>(std::min(thresholds, kMostThresholds));
  PrCurveRows rows;
  for (std::vector<double>& row : rows) row.resize(count);
  auto& [tp, fp, tn, fn, precision, recall] = rows;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    require_probability("prediction", predictions[i]);
    require_probability("label", labels[i]);
    const auto bucket = static_cast<std::size_t>(std::floor(predictions[i] * static_cast<double>(count - 1)));
    tp[bucket] += labels[i] * weights[i];
    fp[bucket] += (1 - labels[i]) * weights[i];
  }
  sum_from_the_end(tp);
  sum_from_the_end(fp);
  for (std::size_t i = 0; i < count; ++i) {
    tn[i] = fp[0] - fp[i];
    fn[i] = tp[0] - tp[i];
    precision[i] = tp[i] / std::max(kLeastCount, tp[i] + fp[i]);
    recall[i] = tp[i] / std::max(kLeastCount, tp[i] + fn[i]);
  }
  return pr_curve_summary(tag, rows);
}

EventBody pr_curve_summary(const std::string& tag, const PrCurveRows& rows) {
  const std::size_t thresholds = rows[0].size();
  if (!std::ranges::all_of(rows, [&](const auto& row) { return row.size() == thresholds; })) {
    throw UsageError({.message = "the parts of a PR curve are not of one length",
                      .found = fmt::format("{} true positives, {} recalls", thresholds, rows[5].size())});
  }
  proto::PrCurvePluginData data;
  data.set_num_thresholds(static_cast<std::uint32_t>(std::min<std::size_t>(thresholds, kMostThresholds)));
  proto::Summary summary = summary_of(clean_tag(tag, TagCharacters::kPrintable));
  set_plugin(*summary.mutable_value(0), "pr_curves", data.SerializeAsString());
  proto::Tensor& tensor = *summary.mutable_value(0)->mutable_tensor();
  tensor.set_dtype(proto::DT_FLOAT);
  tensor.mutable_tensor_shape()->add_dim()->set_size(static_cast<std::int64_t>(rows.size()));
  tensor.mutable_tensor_shape()->add_dim()->set_size(static_cast<std::int64_t>(thresholds));
  for (const std::vector<double>& row : rows) {
    for (const double value : row) tensor.add_float_val(static_cast<float>(value));
  }
  return body_of(std::move(summary));
}

}  // namespace lockstep::tensorboard
