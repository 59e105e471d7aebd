// MixUp and CutMix: each picture of a batch is mixed with the one before it, the first with the last, and so are their
// labels. One draw serves the whole batch, as in torchvision.
#pragma once
#include <cstdint>
#include <span>
#include <variant>

#include <lockstep/data/decode.h>
#include <lockstep/data/random_stream.h>

namespace lockstep::data {

// What was drawn for a batch. `share` is what a picture keeps of itself.
struct MixUp {
  double share = 1;
};
struct CutMix {
  double share = 1;
  Region box;  // the part that comes from the other picture
};

using Mix = std::variant<MixUp, CutMix>;

// How a loader mixes its batches: with these alphas, and by one of the two in turn by chance where both are above 0.
struct Mixing {
  double mix_up = 0, cut_mix = 0;
  double chance = 1;  // of a batch to be mixed: one that is not has a share of 1

  bool any() const { return mix_up > 0 || cut_mix > 0; }
  void check() const;  // throws UsageError for numbers that make no sense
};

// What is done to the next batch, where there is any mixing.
Mix draw_mix(const Mixing& mixing, ImageSize size, RandomStream& random);

// The share is drawn from Beta(alpha, alpha). Both throw UsageError when alpha is not above 0.
MixUp draw_mix_up(double alpha, RandomStream& random);
CutMix draw_cut_mix(double alpha, ImageSize size, RandomStream& random);

// Throws UsageError for a label that is none of so many classes.
void require_classes(std::span<const std::int64_t> labels, std::int64_t classes);

// `pixels` holds as many pictures as there are labels, each height x width x channels floats; it is mixed in place.
// `soft_labels` becomes labels.size() x classes numbers, the rows of which add up to 1. Throws UsageError when the
// sizes do not fit, or when a label is no class.
void mix_up(const MixUp& mix, std::span<float> pixels, std::span<const std::int64_t> labels, std::int64_t classes,
            std::span<float> soft_labels);
void cut_mix(const CutMix& mix, ImageSize size, std::span<float> pixels, std::span<const std::int64_t> labels,
             std::int64_t classes, std::span<float> soft_labels);

}  // namespace lockstep::data
