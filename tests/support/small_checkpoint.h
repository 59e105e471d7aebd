// A checkpoint whose content follows from its step, so that a test knows what it must hold.
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <lockstep/checkpoint/checkpoint.h>
#include <lockstep/checkpoint/writer.h>

namespace lockstep::test {

inline std::vector<std::int64_t> values_of(std::int64_t step, std::size_t size) {
  std::vector<std::int64_t> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = step * 1'000'003 + static_cast<std::int64_t>(i);
  return values;
}

inline data::TensorBytes int64_tensor(const std::string& name, const std::vector<std::int64_t>& values) {
  return {.name = name,
          .type = data::ElementType::kInt64,
          .shape = {std::ssize(values)},
          .bytes = std::as_bytes(std::span(values))};
}

// model.safetensors with `conv.weight` and `conv.bias`, training.safetensors with `momentum` of `size` elements.
inline std::filesystem::path write_small(const std::filesystem::path& checkpoints, std::int64_t step,
                                         std::size_t size = 3) {
  const auto weight = values_of(step, 4), bias = values_of(step, 1), momentum = values_of(step, size);
  checkpoint::Writer writer(checkpoints, step);
  const std::vector model = {int64_tensor("conv.weight", weight), int64_tensor("conv.bias", bias)};
  writer.write(checkpoint::kModelFile, model);
  const std::vector training = {int64_tensor("momentum", momentum)};
  writer.write(checkpoint::kTrainingFile, training);
  return writer.commit({.epoch = step / 10, .numbers = {{"loss", 1.0 / static_cast<double>(step + 1)}}});
}

// Whether it holds what write_small() wrote.
inline bool is_small(const checkpoint::Checkpoint& checkpoint, std::size_t size = 3) {
  const auto holds = [&](std::string_view file, const char* name, std::size_t elements) {
    const auto values = values_of(checkpoint.manifest().step, elements);
    const auto found = checkpoint.tensor(file, name).tensor.bytes, expected = std::as_bytes(std::span(values));
    return std::equal(found.begin(), found.end(), expected.begin(), expected.end());
  };
  return holds(checkpoint::kModelFile, "conv.weight", 4) && holds(checkpoint::kModelFile, "conv.bias", 1) &&
         holds(checkpoint::kTrainingFile, "momentum", size);
}

}  // namespace lockstep::test
