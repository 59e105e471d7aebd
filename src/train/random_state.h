// The streams of random numbers that models draw from: dropout and the like. What happens to samples does not come from
// these (data::RandomStream).
#pragma once
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include <lockstep/comm/group.h>

namespace lockstep::train {

// Collective. The states of all ranks' generators, as "random/2/cpu" and "random/2/device"; complete on every rank.
std::map<std::string, at::Tensor> random_state(const Group& group, at::Device device);

// Puts this rank's back. `state` was saved by as many ranks.
void load_random_state(const std::map<std::string, at::Tensor>& state, RankId rank, at::Device device);

// Begins this rank's streams anew, as a function of all three.
void seed_random(std::uint64_t seed, std::int64_t step, RankId rank);

}  // namespace lockstep::train
