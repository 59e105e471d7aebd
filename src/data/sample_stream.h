#pragma once
#include <lockstep/data/random_stream.h>
#include <lockstep/data/sampler.h>

namespace lockstep::data {

// The random numbers of a sample in the epoch of a run that stands at `state`.
inline RandomStream stream_of(const SamplerState& state, std::int64_t sample) {
  return {state.seed, static_cast<std::uint64_t>(state.epoch), static_cast<std::uint64_t>(sample)};
}

}  // namespace lockstep::data
