// What an optimizer remembers, as bytes: the state of each parameter and the options of each group.
#pragma once
#include <cstdint>
#include <string>

#include <torch/optim/optimizer.h>

#include <lockstep/comm/group.h>

namespace lockstep::parallel {

// As torch::save writes it.
std::string save_state(const torch::optim::Optimizer& optimizer);

// The optimizer must have as many groups, and as many parameters in each, as the one that was saved. What it remembered
// before is gone. Throws UsageError when they do not fit.
void load_state(torch::optim::Optimizer& optimizer, const std::string& bytes);

// From one rank's optimizer to that of another.
void send_state(const Group& group, const torch::optim::Optimizer& optimizer, int destination);
void receive_state(const Group& group, torch::optim::Optimizer& optimizer, int source);

// How long save_state's answer would be.
std::int64_t state_bytes(const torch::optim::Optimizer& optimizer);

}  // namespace lockstep::parallel
