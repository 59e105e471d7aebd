#include <lockstep/bench/projection.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::bench {
namespace {

constexpr double kMilli = 1e3;  // milliseconds of a second
constexpr std::int64_t kMostRanks = 1 << 20;

std::vector<trace::ReadyBucket> merged(const std::vector<trace::ReadyBucket>& buckets, double megabytes) {
  const double limit = megabytes * 1024 * 1024;
  std::vector<trace::ReadyBucket> result;
  for (const trace::ReadyBucket& bucket : buckets) {
    if (result.empty() || static_cast<double>(result.back().bytes + bucket.bytes) > limit) {
      result.push_back(bucket);
      continue;
    }
    result.back().bytes += bucket.bytes;
    result.back().ready = std::max(result.back().ready, bucket.ready);
  }
  return result;
}

// What the largest of so many values of a standard normal distribution is expected to be (Blom).
double expected_largest(std::int64_t count) {
  if (count <= 1) return 0;
  const double n = static_cast<double>(count), part = (n - 0.375) / (n + 0.25);
  double low = 0, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < part ? low : high) = middle;
  }
  return low;
}

ProjectedRow project_one(const Measured& measured, const ProjectionOptions& options, Algorithm algorithm,
                         std::int64_t ranks) {
  const trace::Anatomy& step = measured.step;
  ProjectedRow row{.ranks = ranks, .nodes = options.network.nodes(ranks), .algorithm = algorithm};
  double through = 0;  // when the last bucket is
  for (const trace::ReadyBucket& bucket : merged(step.buckets, options.bucket_megabytes)) {
    const double took =
        all_reduce_seconds(options.network, algorithm, ranks, static_cast<double>(bucket.bytes)) * kMilli;
    row.communication += took;
    through = std::max(through, bucket.ready) + took;
  }
  row.exposed = ranks > 1 ? std::max(0.0, through - step.backward) : 0;
  row.waiting = options.jitter.value_or(step.jitter) * step.step * expected_largest(ranks);
  row.milliseconds = step.step + row.exposed + row.waiting;
  row.samples_per_second = measured.samples_of_rank * static_cast<double>(ranks) / row.milliseconds * kMilli;
  const MeasuredSize& smallest = measured.sizes.front();
  row.efficiency = row.samples_per_second / static_cast<double>(ranks) /
                   (smallest.samples_per_second / static_cast<double>(smallest.ranks));
  return row;
}

std::int64_t parse_size(const std::string& text, const std::string& whole) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1 || number > kMostRanks) {
    throw UsageError({.message = "the numbers of ranks are not understood",
                      .found = whole,
                      .expected = "FROM:TO, which doubles from one to the other, or a list such as 16,48,96"});
  }
  return number;
}

}  // namespace

std::vector<ProjectedRow> project(const Measured& measured, const ProjectionOptions& options) {
  std::vector<ProjectedRow> rows;
  for (const std::int64_t ranks : options.ranks) {
    for (const Algorithm algorithm : options.algorithms) {
      rows.push_back(project_one(measured, options, algorithm, ranks));
    }
  }
  return rows;
}

std::vector<std::int64_t> parse_sizes_of_job(const std::string& text) {
  std::vector<std::int64_t> sizes;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    for (const std::string& word : split(text, ',')) sizes.push_back(parse_size(word, text));
    return sizes;
  }
  const std::int64_t from = parse_size(text.substr(0, colon), text), to = parse_size(text.substr(colon + 1), text);
  for (std::int64_t size = from; size <= to; size *= 2) sizes.push_back(size);
  if (sizes.empty()) parse_size("", text);
  return sizes;
}

nlohmann::ordered_json to_json(const Measured& measured, const ProjectionOptions& options,
                               const std::vector<ProjectedRow>& rows) {
  nlohmann::ordered_json sizes = nlohmann::ordered_json::array(), projected = nlohmann::ordered_json::array();
  for (const MeasuredSize& size : measured.sizes) {
    sizes.push_back({{"ranks", size.ranks},
                     {"samples_per_second", size.samples_per_second},
                     {"efficiency", size.efficiency},
                     {"oversubscribed", size.oversubscribed}});
  }
  for (const ProjectedRow& row : rows) {
    projected.push_back({{"ranks", row.ranks},
                         {"nodes", row.nodes},
                         {"algorithm", to_text(row.algorithm)},
                         {"samples_per_second", row.samples_per_second},
                         {"efficiency", row.efficiency},
                         {"milliseconds", row.milliseconds},
                         {"communication_milliseconds", row.communication},
                         {"exposed_milliseconds", row.exposed},
                         {"waiting_milliseconds", row.waiting}});
  }
  return {{"kind", "projection"},
          {"from", measured.name},
          {"network", options.network.text},
          {"ranks_per_node", options.network.ranks_per_node},
          {"rows", std::move(projected)},
          {"measured", std::move(sizes)}};
}

}  // namespace lockstep::bench
