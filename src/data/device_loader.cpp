#include <lockstep/data/device_loader.h>

#include <array>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/dataset.h>
#include <lockstep/data/pipeline.h>

#include "pixel_plan.h"
#include "sample_stream.h"

namespace lockstep::data {
namespace {

using at::indexing::TensorIndex;

// One number for each picture of a batch.
at::Tensor column(const std::vector<PixelPlan>& plans, const at::Device& device, auto&& number) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(plans.size());
  for (const PixelPlan& plan : plans) numbers.push_back(number(plan));
  return at::tensor(numbers, at::kLong).to(device).unsqueeze(1);
}

// For each picture the source of every row or column, and whether there is one.
struct Lines {
  at::Tensor source, inside;  // N x count
};
Lines lines(const std::vector<PixelPlan>& plans, PixelPlan::Axis PixelPlan::*axis, std::int64_t limit,
            const at::Device& device) {
  const at::Tensor place = at::arange((plans.front().*axis).count, at::TensorOptions(at::kLong).device(device));
  const at::Tensor first = column(plans, device, [&](const PixelPlan& plan) { return (plan.*axis).first; });
  const at::Tensor step = column(plans, device, [&](const PixelPlan& plan) { return (plan.*axis).step; });
  const at::Tensor source = first + step * place;
  return {.source = source.clamp(0, limit - 1), .inside = source.ge(0).logical_and_(source.lt(limit))};
}

// Whether a row or column belongs to what is erased, N x count.
at::Tensor erased(const std::vector<PixelPlan>& plans, std::int64_t count, int Region::*begin, int Region::*extent,
                  const at::Device& device) {
  const auto bound = [&](bool end) {
    return column(plans, device, [&](const PixelPlan& plan) -> std::int64_t {
      if (!plan.erasure) return 0;
      return plan.erasure->region.*begin + (end ? plan.erasure->region.*extent : 0);
    });
  };
  const at::Tensor place = at::arange(count, at::TensorOptions(at::kLong).device(device));
  return place.ge(bound(false)).logical_and_(place.lt(bound(true)));
}

at::Tensor erasing_values(const std::vector<PixelPlan>& plans, std::int64_t channels, const at::Device& device) {
  std::vector<float> values;
  for (const PixelPlan& plan : plans) {
    const auto value = plan.erasure ? plan.erasure->value : std::array<float, 3>{};
    values.insert(values.end(), value.begin(), value.begin() + channels);
  }
  return at::tensor(values).view({-1, 1, 1, channels}).to(device);
}

at::Tensor per_channel(const std::vector<double>& numbers, int channels) {
  const at::Tensor tensor = at::tensor(numbers, at::kDouble);
  return numbers.size() == 1 ? tensor.expand({channels}) : tensor;
}

}  // namespace

DeviceLoader::DeviceLoader(const PictureSet& pictures, const Transforms& transforms, DistributedSampler sampler,
                           std::int64_t batch_size, at::Device device)
    : planner_(std::make_unique<const PixelPlanner>(transforms)),
      sampler_(std::move(sampler)),
      batch_size_(batch_size),
      device_(device) {
  if (batch_size <= 0) throw UsageError("a batch needs at least one sample");
  sampler_.require_size(pictures.size());
  // Not owned: the set must live only as long as this constructor runs.
  const std::shared_ptr<const PictureSet> borrowed(std::shared_ptr<void>(), &pictures);
  const int channels = Pipeline(transforms).channels();
  const DatasetPtr whole = decoded(borrowed, channels);
  std::vector<std::int64_t> labels;
  at::Tensor all;
  for (std::int64_t i = 0; i < whole->size(); ++i) {
    const Sample sample = whole->get(i);
    const at::Tensor rows = sample.data.permute({1, 2, 0});
    if (i == 0) all = at::empty({whole->size(), rows.size(0), rows.size(1), channels}, at::kByte);
    if (rows.sizes() != all.sizes().slice(1)) {
      throw UsageError({.message = fmt::format("{} is not as large as the pictures before it", pictures.name(i)),
                        .found = fmt::format("{} x {}", rows.size(1), rows.size(0)),
                        .expected = fmt::format("{} x {}", all.size(2), all.size(1))});
    }
    all.select(0, i).copy_(rows);
    labels.push_back(sample.target.item<std::int64_t>());
  }
  Normalization normalization;
  for (const TransformPtr& transform : transforms) normalization = transform->normalization().value_or(normalization);
  const at::Tensor deviation = per_channel(normalization.deviation, channels);
  factor_ = (1 / (255 * deviation)).to(device_, at::kFloat);
  term_ = (-per_channel(normalization.mean, channels) / deviation).to(device_, at::kFloat);
  pictures_ = all.to(device_);
  labels_ = at::tensor(labels, at::kLong).to(device_);
}

DeviceLoader::~DeviceLoader() = default;

std::optional<Batch> DeviceLoader::next() {
  if (sampler_.at_end(batch_size_)) return std::nullopt;
  const SamplerState state = sampler_.state();
  std::vector<std::int64_t> samples = sampler_.next(batch_size_);
  const ImageSize size{.width = static_cast<int>(pictures_.size(2)), .height = static_cast<int>(pictures_.size(1))};
  std::vector<PixelPlan> plans;
  for (const std::int64_t sample : samples) {
    plans.push_back(planner_->plan(size, stream_of(state, sample)));
  }
  const at::Tensor index = at::tensor(samples, at::kLong).to(device_);
  if (plans.empty()) plans.push_back(planner_->plan(size, RandomStream(0, 0, 0)));  // for its shape
  const Lines rows = lines(plans, &PixelPlan::y, size.height, device_);
  const Lines columns = lines(plans, &PixelPlan::x, size.width, device_);
  const at::Tensor bytes = pictures_.index({TensorIndex(index.view({-1, 1, 1})), TensorIndex(rows.source.unsqueeze(2)),
                                            TensorIndex(columns.source.unsqueeze(1))});
  const at::Tensor inside = rows.inside.unsqueeze(2).logical_and(columns.inside.unsqueeze(1)).unsqueeze(3);
  at::Tensor numbers = bytes.mul(inside).to(at::kFloat).mul_(factor_).add_(term_);
  if (std::any_of(plans.begin(), plans.end(), [](const PixelPlan& plan) { return plan.erasure.has_value(); })) {
    const at::Tensor erase_rows = erased(plans, numbers.size(1), &Region::top, &Region::height, device_);
    const at::Tensor erase_columns = erased(plans, numbers.size(2), &Region::left, &Region::width, device_);
    const at::Tensor gone = erase_rows.unsqueeze(2).logical_and(erase_columns.unsqueeze(1)).unsqueeze(3);
    numbers = at::where(gone, erasing_values(plans, numbers.size(3), device_), numbers);
  }
  return Batch{.data = numbers.permute({0, 3, 1, 2}), .target = labels_.index({index}), .samples = std::move(samples)};
}

}  // namespace lockstep::data
