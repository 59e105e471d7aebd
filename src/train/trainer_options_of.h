// What a config means for a Trainer.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/nn/model.h>
#include <lockstep/train/run_config.h>
#include <lockstep/train/trainer.h>

namespace lockstep::train {

// With fresh parameters, a function of the seed; or those of model.pretrained.
std::shared_ptr<nn::Model> make_model(const RunConfig& config, std::int64_t classes_of_data);

// All but checkpoints.
TrainerOptions trainer_options_of(const RunConfig& config, at::Device device, int ranks);

// `settings` and `yaml` are the config's; they go into every checkpoint.
CheckpointOptions checkpoint_options_of(const CheckpointKeys& keys, const std::filesystem::path& folder,
                                        const std::vector<config::Setting>& settings, const std::string& yaml);

}  // namespace lockstep::train
