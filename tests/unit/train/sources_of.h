// Sources of a config in one line, and what is wrong with it in one text.
#pragma once
#include <filesystem>
#include <string>

#include <lockstep/base/errors.h>
#include <lockstep/train/sources.h>

#include "one_rank.h"
#include "small_data.h"

namespace lockstep::test {

using train::OpenedData;
using train::RunConfig;
using train::Sources;

inline constexpr std::int64_t kBatch = 4;

inline config::Named named(const std::string& name, Parameters parameters = {}, int line = 7) {
  return {.name = name, .parameters = std::move(parameters), .place = {.source = "own.yaml", .line = line}};
}

inline Parameter numbers(std::vector<double> values) {
  return values;
}

inline Sources sources_of(const RunConfig& config, const nn::Model& model, std::int64_t batch = kBatch) {
  return make_sources(config, OpenedData(config.data, one_rank()), model, one_rank(), at::kCPU, batch);
}

// What its batches, or the attempt to make them, throw.
inline std::string error_of(const RunConfig& config, const nn::Model& model, std::int64_t batch = kBatch) {
  try {
    Sources sources = sources_of(config, model, batch);
    while (sources.train->next()) continue;
    while (sources.test && sources.test->next()) continue;
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline RunConfig config_of(const std::filesystem::path& path) {
  RunConfig config;
  config.data.path = path.string();
  return config;
}

}  // namespace lockstep::test
