#include <lockstep/train/sources.h>

#include <algorithm>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/data/decoded_pictures.h>
#include <lockstep/data/device_loader.h>
#include <lockstep/data/loader.h>
#include <lockstep/data/open_pictures.h>
#include <lockstep/data/pipeline.h>
#include <lockstep/train/mode.h>

#include "available_memory.h"
#include "sources_parts.h"
#include "together.h"

namespace lockstep::train {
namespace {

using data::BatchSource;
using data::DistributedSampler;
using data::PictureSet;
using data::Split;
using Pictures = std::shared_ptr<const PictureSet>;

// Of random numbers, unless data.samples says otherwise: so many samples, or enough for so many steps.
constexpr std::int64_t kRandomSamples = 1024, kRandomSteps = 8;

// A key whose value is one of a few words.
template <typename Value>
Value choose(const char* key, const std::string& word, const std::vector<std::pair<std::string, Value>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    names.push_back(name);
  }
  throw UsageError({.message = fmt::format("{} cannot be '{}'{}", key, word, did_you_mean(word, names)),
                    .expected = fmt::format("one of {}", fmt::join(names, ", "))});
}

enum class Cache { kNone, kMemory, kDevice };

// All of a config that batches of pictures depend on.
class Maker {
 public:
  Maker(const RunConfig& config, const nn::Model& model, const Group& group, at::Device device,
        std::int64_t batch_per_rank, std::uint64_t memory_of_rank)
      : config_(config),
        keys_(config.data),
        model_(model),
        group_(group),
        device_(device),
        batch_(batch_per_rank),
        memory_(memory_of_rank),
        channels_last_(choose<bool>("layout", config.layout, {{"channels-last", true}, {"contiguous", false}})),
        tail_(choose<data::Tail>(
            "data.tail", keys_.tail,
            {{"drop", data::Tail::kDrop}, {"pad", data::Tail::kPad}, {"uneven", data::Tail::kUneven}})),
        cache_(choose<Cache>("data.cache", keys_.cache,
                             {{"none", Cache::kNone}, {"memory", Cache::kMemory}, {"device", Cache::kDevice}})),
        on_error_(choose<data::OnError>("data.on_error", keys_.on_error,
                                        {{"stop", data::OnError::kStop}, {"skip", data::OnError::kSkip}})) {}

  Sources of_random_numbers() const {
    if (mixes()) {
      throw UsageError({.message = "random numbers cannot be mixed (data.mixup, data.cutmix)",
                        .next = "leave them out, or train on pictures that are made up (synthetic:WIDTHxHEIGHT)"});
    }
    const std::int64_t count =
        keys_.samples > 0 ? keys_.samples : std::max(kRandomSamples, kRandomSteps * batch_ * group_.size());
    require_step(count);
    const auto make = [&](Split split, std::int64_t samples) {
      return random_numbers({.count = samples,
                             .shape = model_.input_shape(),
                             .classes = model_.num_classes(),
                             .seed = made_up_seed(split),
                             .channels_last = channels_last_},
                            sampler(split, samples), batch(split), device_);
    };
    return {.train = make(Split::kTrain, count),
            .test = make(Split::kTest, held_out(count)),
            .classes = model_.num_classes(),
            .sample_shape = model_.input_shape(),
            .class_names = {},
            .train_samples = count,
            .test_samples = held_out(count)};
  }

  Sources of_made_up_pictures() const {
    require_pictures_taken(model_, config_.model.name);
    data::SyntheticOptions options{.channels = static_cast<int>(model_.input_shape()[0]),
                                   .classes = static_cast<int>(model_.num_classes())};
    const auto open = [&](Split split) -> Pictures {
      options.seed = made_up_seed(split);
      return data::open_pictures(keys_.path, split, options);
    };
    const Pictures train = some_pictures(open(Split::kTrain), keys_.samples);
    Sources sources = of_pictures(train, some_pictures(open(Split::kTest), held_out(train->size())));
    sources.class_names.clear();
    return sources;
  }

  Sources of_pictures(const Pictures& train, const Pictures& test) const {
    require_pictures_taken(model_, config_.model.name);
    require_classes(model_, static_cast<std::int64_t>(train->classes().size()), mixes());
    require_step(train->size());
    const std::int64_t tries = on_error_ == data::OnError::kSkip ? keys_.max_bad : 0;
    const PictureKind kind = kind_of(*train, tries);
    const ChosenTransforms transforms = choose_transforms(keys_, model_.input_shape(), kind);
    Sources sources{.train = nullptr,
                    .test = nullptr,
                    .classes = static_cast<std::int64_t>(train->classes().size()),
                    .sample_shape = require_taken(model_, transforms.train, kind, "data.transforms"),
                    .class_names = train->classes(),
                    .train_samples = train->size(),
                    .test_samples = test ? test->size() : 0};
    if (test) require_taken(model_, transforms.test, kind_of(*test, tries), "data.test_transforms");
    sources.train = make(train, transforms.train, Split::kTrain);
    if (test) sources.test = make(test, transforms.test, Split::kTest);
    return sources;
  }

 private:
  static std::int64_t held_out(std::int64_t count) { return std::max<std::int64_t>(1, count / 4); }

  data::Mixing mixing(Split split) const {
    if (split != Split::kTrain) return {};
    return {.mix_up = keys_.mixup, .cut_mix = keys_.cutmix, .chance = keys_.mix_chance};
  }
  bool mixes() const { return mixing(Split::kTrain).any(); }

  std::uint64_t made_up_seed(Split split) const {
    return static_cast<std::uint64_t>(config_.seed) * 2 + (split == Split::kTest ? 1 : 0);
  }

  std::int64_t batch(Split split) const {
    return split == Split::kTrain ? batch_ : config_.evaluation.batch_size_per_rank;
  }

  DistributedSampler sampler(Split split, std::int64_t size) const {
    const auto seed = static_cast<std::uint64_t>(config_.seed);
    if (split == Split::kTrain) return {size, group_.id(), {.tail = tail_, .seed = seed}};
    return {size, group_.id(), {.order = data::Order::kSequential, .tail = data::Tail::kUneven, .seed = seed}};
  }

  // Without one no epoch would have a step. In mode optimizer that takes all of the batches which it accumulates.
  void require_step(std::int64_t samples) const {
    const std::int64_t of_ranks = batch_ * group_.size();
    const std::int64_t batches = tail_ == data::Tail::kDrop ? samples / of_ranks : (samples + of_ranks - 1) / of_ranks;
    const std::int64_t each = parse_mode(config_.parallel.mode) == Mode::kOptimizer ? config_.accumulation : 1;
    if (batches >= each) return;
    throw UsageError(
        {.message = "there are fewer samples than one step takes",
         .found = format_count(samples),
         .expected = fmt::format("at least {}: {} for each of {}{}", format_count(of_ranks * each),
                                 format_count(batch_), format_plural(group_.size(), "rank"),
                                 each > 1 ? fmt::format(", {} times (accumulation)", format_count(each)) : ""),
         .next = each > 1 ? "make the batch smaller, or accumulate less"
                          : "make the batch smaller, or set data.tail to pad or uneven"});
  }

  // Nothing else is done meanwhile, so all threads of the rank help.
  data::DecodingOptions decoding() const {
    return {.workers = std::max(static_cast<int>(keys_.workers), at::get_num_threads()),
            .on_error = on_error_,
            .max_bad = keys_.max_bad,
            .most_bytes = memory_};
  }

  std::unique_ptr<BatchSource> make(Pictures pictures, const data::Transforms& transforms, Split split) const {
    auto source = cache_ == Cache::kDevice ? on_device(*pictures, transforms, split)
                                           : by_workers(std::move(pictures), transforms, split);
    return channels_last_ ? std::move(source) : contiguous(std::move(source));
  }

  std::unique_ptr<BatchSource> on_device(const PictureSet& pictures, const data::Transforms& transforms,
                                         Split split) const {
    return std::make_unique<data::DeviceLoader>(pictures, transforms, sampler(split, pictures.size()), batch(split),
                                                device_, decoding(), mixing(split));
  }

  std::unique_ptr<BatchSource> by_workers(Pictures pictures, const data::Transforms& transforms, Split split) const {
    const data::Pipeline pipeline(transforms);
    if (cache_ == Cache::kMemory) pictures = data::decoded_in_memory(std::move(pictures), decoding());
    const std::int64_t size = pictures->size();
    return std::make_unique<data::Loader>(std::move(pictures), pipeline, sampler(split, size),
                                          data::LoaderOptions{.batch_size = batch(split),
                                                              .workers = static_cast<int>(keys_.workers),
                                                              .prefetch = static_cast<int>(keys_.prefetch),
                                                              .on_error = on_error_,
                                                              .max_bad = keys_.max_bad,
                                                              .device = device_,
                                                              .mixing = mixing(split)});
  }

  const RunConfig& config_;
  const DataKeys& keys_;
  const nn::Model& model_;
  const Group& group_;
  const at::Device device_;
  const std::int64_t batch_;
  const std::uint64_t memory_;  // bytes that a cache may take; 0: nobody knows
  const bool channels_last_;
  const data::Tail tail_;
  const Cache cache_;
  const data::OnError on_error_;
};

}  // namespace

Sources make_sources(const RunConfig& config, const OpenedData& data, const nn::Model& model, const Group& group,
                     at::Device device, std::int64_t batch_per_rank) {
  // Ranks of a node look at one moment or another; all take the least that any of them saw, and so decide the same.
  const auto available =
      static_cast<std::uint64_t>(group.all_reduce_value(static_cast<std::int64_t>(available_memory()), Reduce::kMin));
  const std::uint64_t share = available / static_cast<std::uint64_t>(group.local_size());
  Sources sources;
  together(group, [&] {
    const Maker maker(config, model, group, device, batch_per_rank,
                      available == 0 ? 0 : std::max<std::uint64_t>(share, 1));
    sources = data.train()                         ? maker.of_pictures(data.train(), data.test())
              : config.data.path == kRandomNumbers ? maker.of_random_numbers()
                                                   : maker.of_made_up_pictures();
  });
  return sources;
}

}  // namespace lockstep::train
