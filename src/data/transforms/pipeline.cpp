#include <lockstep/data/pipeline.h>

#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "picture_work.h"
#include "row_sinks.h"

namespace lockstep::data {

namespace {

void require_channels(const Normalization& normalization, int channels) {
  for (const auto* numbers : {&normalization.mean, &normalization.deviation}) {
    if (numbers->size() == 1 || static_cast<int>(numbers->size()) == channels) continue;
    throw UsageError({.message = "normalize does not fit the pictures",
                      .found = fmt::format("{} numbers", numbers->size()),
                      .expected = fmt::format("1, or {}: one for each channel", channels)});
  }
}

}  // namespace

struct Pipeline::Scratch::Memory {
  WorkMemory work;
  std::vector<Operation> operations;
  std::vector<Erase> erasures;
};

Pipeline::Scratch::Scratch() : memory_(std::make_unique<Memory>()) {}
Pipeline::Scratch::~Scratch() = default;
Pipeline::Scratch::Scratch(Scratch&&) noexcept = default;
Pipeline::Scratch& Pipeline::Scratch::operator=(Scratch&&) noexcept = default;

Pipeline::Pipeline(Transforms transforms, DecodeLimits limits) : transforms_(std::move(transforms)), limits_(limits) {
  for (const TransformPtr& transform : transforms_) {
    if (transform == nullptr) throw UsageError("a pipeline has a transform that is not there");
    const auto normalization = transform->normalization();
    if (normalization && (normalization_ || floats_)) {
      throw UsageError("normalize can stand in a pipeline once, and before random_erasing");
    }
    if (normalization) normalization_ = normalization;
    if (transform->after_normalization()) floats_ = true;
    if ((normalization_ || floats_) && !normalization && !transform->after_normalization()) {
      throw UsageError({.message = "a transform of pixels stands behind normalize or random_erasing",
                        .next = "put normalize behind all other transforms, and random_erasing last"});
    }
    channels_ = transform->output_channels(channels_);
  }
  if (normalization_) require_channels(*normalization_, channels_);
  factors_ = std::make_shared<Factors>(normalization_, channels_);
}

ImageSize Pipeline::output_size(ImageSize picture) const {
  for (const TransformPtr& transform : transforms_) picture = transform->output_size(picture);
  return picture;
}

template <typename Number>
void Pipeline::run_to(const Picture& picture, RandomStream random, Scratch& scratch, std::span<Number> slot) const {
  Scratch::Memory& memory = *scratch.memory_;
  PictureWork work(picture, channels_, limits_, memory.work);
  memory.erasures.clear();
  for (std::size_t i = 0; i < transforms_.size(); ++i) {
    memory.operations.clear();
    RandomStream own = random.fork(i);
    transforms_[i]->draw(work.size(), own, memory.operations);
    for (const Operation& operation : memory.operations) {
      if (const auto* erase = std::get_if<Erase>(&operation)) {
        memory.erasures.push_back(*erase);
      } else {
        work.add(operation);
      }
    }
  }
  const ImageSize size = work.size();
  const auto row = static_cast<std::size_t>(size.width) * static_cast<std::size_t>(channels_);
  if (slot.size() != row * static_cast<std::size_t>(size.height)) {
    throw UsageError({.message = "a picture's slot in its batch is not as long as what comes out for it",
                      .found = fmt::format("{} numbers", slot.size()),
                      .expected = fmt::format("{} x {} x {}", size.height, size.width, channels_),
                      .next = "let the transforms end in one size for all pictures"});
  }
  if constexpr (std::is_same_v<Number, float>) {
    FloatSink sink(slot, row, *factors_, pixel_kernels());
    work.finish(sink);
    for (const Erase& part : memory.erasures) erase(slot, size, channels_, part);
  } else {
    ByteSink sink(slot, row);
    work.finish(sink);
  }
}

void Pipeline::run(const Picture& picture, RandomStream random, Scratch& scratch, std::span<float> slot) const {
  run_to(picture, random, scratch, slot);
}

void Pipeline::run(const Picture& picture, RandomStream random, Scratch& scratch, std::span<std::uint8_t> slot) const {
  if (normalization_ || floats_) {
    throw UsageError("a pipeline with normalize or random_erasing makes floats, not bytes");
  }
  run_to(picture, random, scratch, slot);
}

}  // namespace lockstep::data
