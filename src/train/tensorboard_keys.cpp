#include "tensorboard_keys.h"

namespace lockstep::train {

void add_tensorboard(config::Schema& schema, TensorboardKeys& keys) {
  const auto add = [&](const std::string& name, bool* variable, const std::string& meaning) {
    schema.add("tensorboard." + name, variable, {.meaning = meaning, .shapes_training = false});
  };
  const auto add_count = [&](const std::string& name, std::int64_t* variable, const std::string& meaning) {
    schema.add("tensorboard." + name, variable, {.meaning = meaning, .least = 0, .shapes_training = false});
  };
  add("loss", &keys.loss, "The loss of training, every log_every steps and each epoch, and of the test.");
  add("accuracy", &keys.accuracy, "The accuracies, likewise.");
  add("learning_rate", &keys.learning_rate, "The learning rate.");
  add("loss_scale", &keys.loss_scale, "The loss scale, where the precision has one.");
  add("throughput", &keys.throughput, "Samples a second, of all ranks.");
  add("data_wait", &keys.data_wait, "The part of the time that goes by waiting for data.");
  add("communication", &keys.communication, "The part that goes by waiting for other ranks, where it is known.");
  add("gradient_norm", &keys.gradient_norm, "The norm of the gradients before clipping; costs a pass over them.");
  add_count("histograms_every", &keys.histograms_every,
            "Epochs from one histogram of all weights to the next; 0: none.");
  add("graph", &keys.graph, "The model's graph.");
  add_count("images", &keys.images, "So many pictures of the first batch, as the model sees them.");
  add("confusion_matrix", &keys.confusion_matrix, "Which class was taken for which, at every evaluation.");
  add("hparams", &keys.hparams, "The settings of the config with the final result.");
}

}  // namespace lockstep::train
