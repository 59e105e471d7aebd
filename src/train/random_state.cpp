#include "random_state.h"

#include <mutex>

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <fmt/format.h>
#include <torch/utils.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/random_stream.h>

namespace lockstep::train {
namespace {

std::string name_of(int rank, const char* generator) {
  return fmt::format("random/{}/{}", rank, generator);
}

at::Tensor state_of(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void set_state(at::Generator generator, const at::Tensor& state) {
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state.clone());  // a file's memory cannot be written to
}

const at::Generator& generator_of(at::Device device) {
  return at::globalContext().defaultGenerator(device);
}

const at::Tensor& at_name(const std::map<std::string, at::Tensor>& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end()) throw UsageError(fmt::format("the checkpoint has no '{}'", name));
  return found->second;
}

}  // namespace

std::map<std::string, at::Tensor> random_state(const Group& group, at::Device device) {
  std::map<std::string, at::Tensor> result;
  const auto gather = [&](const char* name, const at::Tensor& state) {
    const auto all = group.all_gather(state.contiguous());
    for (std::size_t i = 0; i < all.size(); ++i) result.emplace(name_of(static_cast<int>(i), name), all[i]);
  };
  gather("cpu", state_of(generator_of(at::kCPU)));
  if (!device.is_cpu()) gather("device", state_of(generator_of(device)));
  return result;
}

void load_random_state(const std::map<std::string, at::Tensor>& state, RankId rank, at::Device device) {
  set_state(generator_of(at::kCPU), at_name(state, name_of(rank.rank, "cpu")));
  if (!device.is_cpu() && state.contains(name_of(rank.rank, "device"))) {
    set_state(generator_of(device), at_name(state, name_of(rank.rank, "device")));
  }
}

void seed_random(std::uint64_t seed, std::int64_t step, RankId rank) {
  data::RandomStream stream(seed, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(rank.rank));
  torch::manual_seed(stream());
}

}  // namespace lockstep::train
