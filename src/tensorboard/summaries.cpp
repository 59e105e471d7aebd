#include "summaries.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>

#include "histogram.h"
#include "plugins.pb.h"
#include "summary_message.h"
#include "tag.h"
#include "wav_encoder.h"

namespace lockstep::tensorboard {
namespace {

std::vector<double> finite_values(const std::string& tag, std::span<const double> values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  if (finite.empty()) {
    throw UsageError({.message = fmt::format("the histogram '{}' has no finite value", tag),
                      .found = format_plural(static_cast<std::int64_t>(values.size()), "value")});
  }
  if (finite.size() < values.size()) {
    log::warning("the histogram '{}' leaves out {} of {} that are not finite", tag,
                 format_count(static_cast<std::int64_t>(values.size() - finite.size())),
                 format_plural(static_cast<std::int64_t>(values.size()), "value"));
  }
  return finite;
}

std::vector<double> edges_of(std::span<const double> values, const HistogramOptions& options) {
  const bool ascending = std::ranges::adjacent_find(options.edges, std::greater_equal()) == options.edges.end();
  if (options.equal_bins < 0 || options.max_bins < 0 || options.edges.size() == 1 || !ascending) {
    throw UsageError({.message = "the bins of a histogram make no sense",
                      .found = fmt::format("{} edges, {} equal bins, at most {}", options.edges.size(),
                                           options.equal_bins, options.max_bins),
                      .expected = "two or more edges in ascending order, or a number of bins"});
  }
  if (!options.edges.empty()) return options.edges;
  return options.equal_bins > 0 ? equal_edges(values, options.equal_bins) : tensorflow_edges();
}

}  // namespace

EventBody scalar_summary(const std::string& tag, double value) {
  proto::Summary summary = summary_of(clean_tag(tag, TagCharacters::kName));
  summary.mutable_value(0)->set_simple_value(static_cast<float>(value));
  return body_of(std::move(summary));
}

EventBody text_summary(const std::string& tag, const std::string& text) {
  proto::Summary summary = summary_of(clean_tag(tag, TagCharacters::kPrintable) + "/text_summary");
  set_plugin(*summary.mutable_value(0), "text", proto::TextPluginData().SerializeAsString());
  proto::Tensor& tensor = *summary.mutable_value(0)->mutable_tensor();
  tensor.set_dtype(proto::DT_STRING);
  tensor.mutable_tensor_shape()->add_dim()->set_size(1);
  tensor.add_string_val(clean_text(text));
  return body_of(std::move(summary));
}

EventBody histogram_summary(const std::string& tag, std::span<const double> values, const HistogramOptions& options) {
  const std::string name = clean_tag(tag, TagCharacters::kName);
  const std::vector<double> finite = finite_values(name, values);
  Counted counted = count(finite, edges_of(finite, options), options.max_bins);
  if (counted.counts.empty()) {
    throw UsageError(fmt::format("no value of the histogram '{}' lies within its edges", name));
  }
  const auto [least, greatest] = std::ranges::minmax(finite);
  RawHistogram histogram{.min = least, .max = greatest, .num = static_cast<double>(finite.size())};
  histogram.sum = std::accumulate(finite.begin(), finite.end(), 0.0);
  histogram.sum_squares = std::inner_product(finite.begin(), finite.end(), finite.begin(), 0.0);
  histogram.bucket_limits = std::move(counted.limits);
  histogram.bucket_counts = std::move(counted.counts);
  return histogram_summary(name, histogram);
}

EventBody histogram_summary(const std::string& tag, const RawHistogram& histogram) {
  const std::string name = clean_tag(tag, TagCharacters::kPrintable);
  if (histogram.bucket_limits.empty() || histogram.bucket_limits.size() != histogram.bucket_counts.size()) {
    throw UsageError(
        {.message = fmt::format("the histogram '{}' needs a limit for each bucket", name),
         .found = fmt::format("{} limits, {} counts", histogram.bucket_limits.size(), histogram.bucket_counts.size())});
  }
  proto::Summary summary = summary_of(name);
  proto::Histogram& written = *summary.mutable_value(0)->mutable_histo();
  written.set_min(histogram.min);
  written.set_max(histogram.max);
  written.set_num(histogram.num);
  written.set_sum(histogram.sum);
  written.set_sum_squares(histogram.sum_squares);
  written.mutable_bucket_limit()->Assign(histogram.bucket_limits.begin(), histogram.bucket_limits.end());
  written.mutable_bucket()->Assign(histogram.bucket_counts.begin(), histogram.bucket_counts.end());
  return body_of(std::move(summary));
}

EventBody audio_summary(const std::string& tag, std::span<const std::int16_t> samples, int channels, int sample_rate) {
  if (sample_rate <= 0) throw UsageError(fmt::format("audio cannot have {} samples a second", sample_rate));
  proto::Summary summary = summary_of(clean_tag(tag, TagCharacters::kPrintable));
  proto::Summary::Audio& audio = *summary.mutable_value(0)->mutable_audio();
  audio.set_sample_rate(static_cast<float>(sample_rate));
  audio.set_num_channels(channels);
  audio.set_length_frames(static_cast<std::int64_t>(samples.size()) / channels);
  audio.set_content_type("audio/wav");
  audio.set_encoded_audio_string(encode_wav(samples, channels, sample_rate));
  return body_of(std::move(summary));
}

}  // namespace lockstep::tensorboard
