// What the keys offer is what the library knows: the list of keys is made without libtorch and cannot ask it.
#include <gmock/gmock.h>

#include <lockstep/amp/precision.h>
#include <lockstep/base/errors.h>
#include <lockstep/gpu/ranges.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/nn/model.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/train/run_config.h>

#include "choices_of.h"

namespace lockstep::test {
namespace {

TEST(Choices, AreWhatTheLibraryKnows) {
  EXPECT_EQ(choices_of("optimizer.name"), optim::optimizer_names());
  for (const std::string& level : choices_of("precision.level")) EXPECT_NO_THROW(amp::parse_precision(level)) << level;
  for (const std::string& stem : choices_of("model.stem")) EXPECT_NO_THROW(nn::parse_stem(stem)) << stem;
  for (const std::string& kind : choices_of("profile.nvtx")) EXPECT_NO_THROW(gpu::parse_range_detail(kind)) << kind;
  EXPECT_EQ(choices_of("engine"), kernels::engine_names());
  EXPECT_EQ(choices_of("precision.level").size(), 7U);
  EXPECT_EQ(choices_of("model.stem").size(), 3U);
  EXPECT_EQ(choices_of("profile.nvtx").size(), 3U);
}

// Whether the keys, and the library, take an option of an optimizer.
struct Option {
  const char* yaml;
  optim::OptimizerOptions options;
};

TEST(Choices, OfAnOptimizersOptionsAreWhatItHas) {
  const std::vector<Option> all = {{"momentum: 0.9", {.momentum = 0.9}},
                                   {"dampening: 0.1", {.dampening = 0.1}},
                                   {"momentum: 0.9, nesterov: true", {.momentum = 0.9, .nesterov = true}},
                                   {"betas: [0.8, 0.9]", {.betas = std::make_tuple(0.8, 0.9)}},
                                   {"eps: 1e-6", {.eps = 1e-6}},
                                   {"amsgrad: true", {.amsgrad = true}},
                                   {"trust_coefficient: 0.1", {.trust_coefficient = 0.1}},
                                   {"always_adapt: true", {.always_adapt = true}},
                                   {"fused: false", {.fused = false}}};
  const auto takes = [](const auto& action) {
    try {
      action();
    } catch (const UsageError&) {
      return false;
    }
    return true;
  };
  const std::vector<optim::ParameterGroup> groups(1);
  for (const std::string& name : optim::optimizer_names()) {
    for (const Option& option : all) {
      const bool by_keys = takes([&] {
        train::RunConfig config;
        auto schema = train::schema_of(config);
        const std::string yaml = "optimizer: {name: " + name + ", " + option.yaml + "}";
        train::read_config(schema, config, config::parse_yaml(yaml, "a.yaml"));
      });
      EXPECT_EQ(by_keys, takes([&] { optim::make_optimizer(name, groups, option.options); }))
          << name << ", " << option.yaml;
    }
  }
}

}  // namespace
}  // namespace lockstep::test
