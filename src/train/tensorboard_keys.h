#pragma once
#include <lockstep/config/schema.h>
#include <lockstep/train/run_config.h>

namespace lockstep::train {

void add_tensorboard(config::Schema& schema, TensorboardKeys& keys);

}  // namespace lockstep::train
