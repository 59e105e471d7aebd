// MixUp and CutMix: each picture of a batch is mixed with the one before it, the first with the last, and so are their
// labels. One draw serves the whole batch, as in torchvision.
#pragma once
#include <cstdint>
#include <span>

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

// The share is drawn from Beta(alpha, alpha). Both throw UsageError when alpha is not above 0.
MixUp draw_mix_up(double alpha, RandomStream& random);
CutMix draw_cut_mix(double alpha, ImageSize size, RandomStream& random);

// `pixels` holds as many pictures as there are labels, each height x width x channels floats; it is mixed in place.
// `soft_labels` becomes labels.size() x classes numbers, the rows of which add up to 1. Throws UsageError when the
// sizes do not fit, or when a label is no class.
void mix_up(const MixUp& mix, std::span<float> pixels, std::span<const std::int64_t> labels, std::int64_t classes,
            std::span<float> soft_labels);
void cut_mix(const CutMix& mix, ImageSize size, std::span<float> pixels, std::span<const std::int64_t> labels,
             std::int64_t classes, std::span<float> soft_labels);

}  // namespace lockstep::data
