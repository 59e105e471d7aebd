#include <span>

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/first_good.h>

#include "filler.h"
#include "picture_size.h"

namespace lockstep::data {
namespace {

template <typename Number>
std::span<Number> elements(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<Number>(), static_cast<std::size_t>(tensor.numel())};
}

class PictureFiller : public Filler {
 public:
  PictureFiller(std::shared_ptr<const PictureSet> pictures, Pipeline pipeline, at::ScalarType type, Mixing mixing,
                std::int64_t tries)
      : pictures_(std::move(pictures)),
        pipeline_(std::move(pipeline)),
        type_(type),
        mixing_(mixing),
        shape_(common_shape(tries)) {}

  std::int64_t size() const override { return pictures_->size(); }
  std::string name(std::int64_t sample) const override { return pictures_->name(sample); }

  BatchTensors allocate(std::int64_t count, bool pinned) const override {
    return {
        .data = at::empty({count, pipeline_.channels(), shape_.height, shape_.width},
                          at::TensorOptions(type_).pinned_memory(pinned).memory_format(at::MemoryFormat::ChannelsLast)),
        .target = count == 0 && mixing_.any() ? soft_labels(count, pinned)
                                              : at::empty({count}, at::TensorOptions(at::kLong).pinned_memory(pinned))};
  }

  void fill(std::int64_t sample, RandomStream random, Pipeline::Scratch& scratch, const BatchTensors& batch,
            std::int64_t slot) const override {
    const Picture picture = pictures_->get(sample);
    try {
      require_shape(picture);
      if (type_ == at::kByte) {
        run<std::uint8_t>(picture, random, scratch, batch, slot);
      } else {
        run<float>(picture, random, scratch, batch, slot);
      }
    } catch (const SampleError& error) {
      throw error.of(name(sample));
    }
    batch.target.mutable_data_ptr<std::int64_t>()[slot] = picture.label;
  }

  void finish(BatchTensors& batch, RandomStream random) const override {
    if (!mixing_.any()) return;
    const at::Tensor soft = soft_labels(batch.target.size(0), batch.target.is_pinned());
    const std::int64_t classes = soft.size(1);
    const auto pixels = elements<float>(batch.data), mixed = elements<float>(soft);
    const auto labels = elements<std::int64_t>(batch.target);
    const Mix drawn = draw_mix(mixing_, shape_, random);
    if (const auto* const cut = std::get_if<CutMix>(&drawn)) {
      cut_mix(*cut, shape_, pixels, labels, classes, mixed);
    } else {
      mix_up(std::get<MixUp>(drawn), pixels, labels, classes, mixed);
    }
    batch.target = soft;
  }

 private:
  at::Tensor soft_labels(std::int64_t count, bool pinned) const {
    return at::empty({count, static_cast<std::int64_t>(pictures_->classes().size())},
                     at::TensorOptions(at::kFloat).pinned_memory(pinned));
  }

  ImageSize common_shape(std::int64_t tries) {
    if (pictures_->size() == 0) throw UsageError("the data set has no pictures");
    // Two sizes that share neither a side nor a ratio: the same result for both does not depend on them.
    const ImageSize shape = pipeline_.output_size({.width = 1000, .height = 1000});
    any_size_fits_ = shape == pipeline_.output_size({.width = 700, .height = 800});
    if (any_size_fits_) return shape;
    return first_good(pictures_->size(), tries, [&](std::int64_t sample) {
      const Picture picture = pictures_->get(sample);
      try {
        return pipeline_.output_size(size_of(picture));
      } catch (const SampleError& error) {
        throw error.of(name(sample));
      }
    });
  }

  void require_shape(const Picture& picture) const {
    if (any_size_fits_) return;
    if (const ImageSize size = pipeline_.output_size(size_of(picture)); size != shape_) {
      throw SampleError({.message = "the pictures of a batch must have one size",
                         .found = fmt::format("{} x {}", size.width, size.height),
                         .expected = fmt::format("{} x {}, as the first has", shape_.width, shape_.height),
                         .next = "resize or crop them"});
    }
  }

  template <typename Number>
  void run(const Picture& picture, RandomStream random, Pipeline::Scratch& scratch, const BatchTensors& batch,
           std::int64_t slot) const {
    const auto length = static_cast<std::size_t>(pipeline_.channels()) * static_cast<std::size_t>(shape_.width) *
                        static_cast<std::size_t>(shape_.height);
    const auto slots = elements<Number>(batch.data);
    pipeline_.run(picture, random, scratch, slots.subspan(static_cast<std::size_t>(slot) * length, length));
  }

  std::shared_ptr<const PictureSet> pictures_;
  Pipeline pipeline_;
  at::ScalarType type_;
  Mixing mixing_;
  bool any_size_fits_ = false;  // a transform fixes the size that comes out
  ImageSize shape_;
};

}  // namespace

std::unique_ptr<Filler> make_filler(std::shared_ptr<const PictureSet> pictures, Pipeline pipeline, at::ScalarType type,
                                    Mixing mixing, std::int64_t tries) {
  mixing.check();
  if (mixing.any() && type != at::kFloat) throw UsageError("MixUp and CutMix need pictures of floats, not of bytes");
  if (type != at::kFloat && type != at::kByte) {
    throw UsageError({.message = "pictures are loaded as float or as bytes", .found = c10::toString(type)});
  }
  return std::make_unique<PictureFiller>(std::move(pictures), std::move(pipeline), type, mixing, tries);
}

}  // namespace lockstep::data
