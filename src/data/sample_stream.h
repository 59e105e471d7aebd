#pragma once
#include <lockstep/data/random_stream.h>
#include <lockstep/data/sampler.h>

namespace lockstep::data {

// The random numbers of a sample in the epoch of a run that stands at `state`.
inline RandomStream stream_of(const SamplerState& state, std::int64_t sample) {
  return {state.seed, static_cast<std::uint64_t>(state.epoch), static_cast<std::uint64_t>(sample)};
}

// The numbers of a whole batch, beside those of its first sample.
inline RandomStream batch_stream_of(const SamplerState& state, std::int64_t first_sample) {
  constexpr std::uint64_t kBatchPart = ~std::uint64_t{0};  // no transform of a sample has this place
  return stream_of(state, first_sample).fork(kBatchPart);
}

}  // namespace lockstep::data
