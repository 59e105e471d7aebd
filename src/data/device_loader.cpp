#include <lockstep/data/device_loader.h>

#include <algorithm>
#include <span>
#include <utility>

#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/first_good.h>
#include <lockstep/data/pipeline.h>

#include "decode_all.h"
#include "filler.h"
#include "picture_size.h"
#include "pixel_plan.h"
#include "sample_stream.h"

namespace lockstep::data {
namespace {

using at::indexing::TensorIndex;

// Memory of the CPU that is copied to the device without waiting for it.
at::Tensor staged(at::IntArrayRef sizes, at::ScalarType type, at::Device device) {
  return at::empty(sizes, at::TensorOptions(type).pinned_memory(device.is_cuda()));
}

at::Tensor per_channel(const std::vector<double>& numbers, int channels) {
  const at::Tensor tensor = at::tensor(numbers, at::kDouble);
  return numbers.size() == 1 ? tensor.expand({channels}) : tensor;
}

// Where each row or column of the result comes from: `base` and its place there, or `outside`.
void write_sources(const std::vector<int>& sources, std::int64_t base, std::int64_t outside, std::int64_t* to) {
  for (const int source : sources) *to++ = source < 0 ? outside : base + source;
}

ImageSize first_size(const PictureSet& pictures, const DecodingOptions& decoding) {
  if (pictures.size() == 0) throw UsageError("the data set has no pictures");
  const std::int64_t tries = decoding.on_error == OnError::kSkip ? decoding.max_bad : 0;
  return first_good(pictures.size(), tries, [&](std::int64_t i) {
    const Picture picture = pictures.get(i);
    try {
      return size_of(picture);
    } catch (const SampleError& error) {
      throw error.of(pictures.name(i));
    }
  });
}

void require_size(const Picture& picture, ImageSize expected, const PictureSet& pictures, std::int64_t index) {
  const ImageSize size = size_of(picture);
  if (size == expected) return;
  throw UsageError({.message = fmt::format("{} is not as large as the pictures before it", pictures.name(index)),
                    .found = fmt::format("{} x {}", size.width, size.height),
                    .expected = fmt::format("{} x {}", expected.width, expected.height),
                    .next = "bring them to one size, or let a Loader's workers do it"});
}

}  // namespace

DeviceLoader::DeviceLoader(const PictureSet& pictures, const Transforms& transforms, DistributedSampler sampler,
                           std::int64_t batch_size, at::Device device, const DecodingOptions& decoding,
                           const Mixing& mixing)
    : planner_(std::make_unique<const PixelPlanner>(transforms)),
      sampler_(std::move(sampler)),
      batch_size_(batch_size),
      device_(device),
      mixing_(mixing),
      classes_(std::ssize(pictures.classes())),
      size_(first_size(pictures, decoding)) {
  if (batch_size <= 0) throw UsageError("a batch needs at least one sample");
  mixing.check();
  sampler_.require_size(pictures.size());
  const int channels = Pipeline(transforms).channels();
  const Pipeline pipeline(channels == 1 ? Transforms{grayscale()} : Transforms{});
  const std::int64_t count = pictures.size();
  const at::Tensor all = at::empty({count, size_.height, size_.width, channels}, at::kByte);
  const auto length = static_cast<std::size_t>(all.stride(0));
  const std::span bytes(all.mutable_data_ptr<std::uint8_t>(), static_cast<std::size_t>(all.numel()));
  AllDecoded decoded = decode_all(pictures, decoding, [&](auto i, const Picture& picture, auto& scratch) {
    require_size(picture, size_, pictures, i);
    pipeline.run(picture, RandomStream(0, 0, 0), scratch, bytes.subspan(static_cast<std::size_t>(i) * length, length));
  });
  for (const auto& [bad, good] : decoded.stand_ins) all[bad].copy_(all[good]);
  labels_ = std::move(decoded.labels);
  if (mixing.any()) require_classes(labels_, classes_);
  rows_ =
      at::zeros({count * size_.height + 1, size_.width + 1, channels}, at::TensorOptions(at::kByte).device(device_));
  rows_.narrow(0, 0, count * size_.height).narrow(1, 0, size_.width).copy_(all.view({-1, size_.width, channels}));
  Normalization normalization;
  for (const TransformPtr& transform : transforms) normalization = transform->normalization().value_or(normalization);
  const at::Tensor deviation = per_channel(normalization.deviation, channels);
  factor_ = (1 / (255 * deviation)).to(device_, at::kFloat);
  term_ = (-per_channel(normalization.mean, channels) / deviation).to(device_, at::kFloat);
}

DeviceLoader::~DeviceLoader() = default;

std::optional<Batch> DeviceLoader::next() {
  if (sampler_.at_end(batch_size_)) return std::nullopt;
  const SamplerState state = sampler_.state();
  std::vector<std::int64_t> samples = sampler_.next(batch_size_);
  std::vector<PixelPlan> plans;
  plans.reserve(samples.size());
  for (const std::int64_t sample : samples) plans.push_back(planner_->plan(size_, stream_of(state, sample)));
  // All pictures have one size, so what comes out has too.
  const PixelPlan shape = plans.empty() ? planner_->plan(size_, RandomStream(0, 0, 0)) : plans.front();
  const auto count = static_cast<std::int64_t>(samples.size());
  const std::int64_t height = std::ssize(shape.y), width = std::ssize(shape.x);

  // Labels, rows and columns go there in one copy.
  const at::Tensor numbers = staged({count * (1 + height + width)}, at::kLong, device_);
  auto* const labels = numbers.mutable_data_ptr<std::int64_t>();
  std::int64_t* const rows = labels + count;
  std::int64_t* const columns = rows + count * height;
  for (std::int64_t i = 0; i < count; ++i) {
    const PixelPlan& plan = plans[static_cast<std::size_t>(i)];
    const std::int64_t sample = samples[static_cast<std::size_t>(i)];
    labels[i] = labels_[static_cast<std::size_t>(sample)];
    write_sources(plan.y, sample * size_.height, rows_.size(0) - 1, rows + i * height);
    write_sources(plan.x, 0, size_.width, columns + i * width);
  }
  const auto parts =
      numbers.to(device_, /*non_blocking=*/true).split_with_sizes({count, count * height, count * width});
  const at::Tensor bytes =
      rows_.index({TensorIndex(parts[1].view({count, height, 1})), TensorIndex(parts[2].view({count, 1, width}))});
  at::Tensor made = at::addcmul(term_, bytes, factor_);
  erase(made, plans);
  at::Tensor target = parts[0];
  if (mixing_.any()) target = mix(made, target, batch_stream_of(state, samples.empty() ? 0 : samples.front()));
  return Batch{.data = made.permute({0, 3, 1, 2}), .target = target, .samples = std::move(samples)};
}

// `numbers` are N x height x width x channels. Returns the soft labels.
at::Tensor DeviceLoader::mix(at::Tensor& numbers, const at::Tensor& labels, RandomStream random) const {
  const ImageSize size{.width = static_cast<int>(numbers.size(2)), .height = static_cast<int>(numbers.size(1))};
  const Mix drawn = draw_mix(mixing_, size, random);
  const double share = std::visit([](const auto& mix) { return mix.share; }, drawn);
  const auto with_others = [&](const at::Tensor& own) { return own * share + own.roll(1, 0) * (1 - share); };
  if (const auto* const cut = std::get_if<CutMix>(&drawn)) {
    const Region& box = cut->box;
    const at::Tensor part = numbers.narrow(1, box.top, box.height).narrow(2, box.left, box.width);
    part.copy_(part.roll(1, 0));
  } else if (share < 1) {
    numbers = with_others(numbers);
  }
  const at::Tensor own = at::zeros({labels.size(0), classes_}, numbers.options());
  return with_others(own.scatter_(1, labels.unsqueeze(1), 1));
}

// `numbers` are N x height x width x channels.
void DeviceLoader::erase(at::Tensor& numbers, const std::vector<PixelPlan>& plans) const {
  if (std::none_of(plans.begin(), plans.end(), [](const PixelPlan& plan) { return plan.erasure.has_value(); })) return;
  const std::int64_t count = numbers.size(0), height = numbers.size(1), width = numbers.size(2);
  const std::int64_t channels = numbers.size(3);
  const at::Tensor lines = staged({count, height + width}, at::kBool, device_).zero_();  // rows and columns that go
  const at::Tensor values = staged({count, 1, 1, channels}, at::kFloat, device_).zero_();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto& erasure = plans[static_cast<std::size_t>(i)].erasure;
    if (!erasure) continue;
    bool* const of_picture = lines.mutable_data_ptr<bool>() + i * (height + width);
    std::fill_n(of_picture + erasure->region.top, erasure->region.height, true);
    std::fill_n(of_picture + height + erasure->region.left, erasure->region.width, true);
    std::copy_n(erasure->value.begin(), channels, values.mutable_data_ptr<float>() + i * channels);
  }
  const at::Tensor gone = lines.to(device_, /*non_blocking=*/true);
  const at::Tensor gone_rows = gone.narrow(1, 0, height).unsqueeze(2).unsqueeze(3);
  const at::Tensor gone_columns = gone.narrow(1, height, width).unsqueeze(1).unsqueeze(3);
  numbers = at::where(gone_rows.logical_and(gone_columns), values.to(device_, /*non_blocking=*/true), numbers);
}

}  // namespace lockstep::data
