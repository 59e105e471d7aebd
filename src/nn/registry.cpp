#include <lockstep/nn/registry.h>

#include <algorithm>
#include <cctype>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "families.h"
#include "script_model.h"

namespace lockstep::nn {
namespace {

// Ours have the input shape that their layers ask for; a user's model may do with the option what it likes.
ModelFactory with_own_input(const std::string& name, const ModelFactory& factory) {
  return [name, factory](const ModelOptions& options) {
    if (!options.input_shape.empty()) {
      throw UsageError({.message = fmt::format("'{}' has an input shape of its own", name),
                        .next = "leave input_shape out; TorchScript files need it"});
    }
    return factory(options);
  };
}

// The models of this process. A program adds its own before it looks any up, and perhaps before main, so this cannot
// belong to an object that main makes.
class Registry {
 public:
  static Registry& get() {
    static Registry registry;
    return registry;
  }

  bool add(const std::string& name, ModelFactory factory) {
    const std::lock_guard lock(mutex_);
    if (find(name) != models_.end()) {
      throw UsageError({.message = fmt::format("there is a model '{}' already", name), .next = "choose another name"});
    }
    models_.emplace_back(name, std::move(factory));
    return true;
  }

  // An empty one if there is none.
  ModelFactory factory(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = find(name);
    return found == models_.end() ? ModelFactory() : found->second;
  }

  std::vector<std::string> names() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, factory] : models_) names.push_back(name);
    return names;
  }

 private:
  Registry() {
    for (const auto& family : {resnets, chain_nets, classic_nets, airbenches, transformers}) {
      for (const auto& [name, factory] : family()) models_.emplace_back(name, with_own_input(name, factory));
    }
  }

  NamedFactories::iterator find(const std::string& name) {
    return std::find_if(models_.begin(), models_.end(), [&](const auto& model) { return model.first == name; });
  }

  std::mutex mutex_;
  NamedFactories models_;
};

[[noreturn]] void refuse_name(const std::string& name) {
  const auto names = model_names();
  // Those of torchvision's classes have capitals.
  std::string small = name;
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) { return std::tolower(c); });
  throw UsageError({.message = fmt::format("there is no model '{}'{}", name, did_you_mean(small, names)),
                    .expected = fmt::format("one of {}; or a TorchScript file, NAME.pt", fmt::join(names, ", "))});
}

}  // namespace

std::shared_ptr<Model> make_model(const std::string& name, const ModelOptions& options) {
  ModelFactory factory = Registry::get().factory(name);
  if (!factory && is_script_file(name))
    factory = [name](const auto& chosen) { return load_script_model(name, chosen); };
  if (!factory) refuse_name(name);
  if (options.num_classes < 0 || options.input_channels < 0) {
    throw UsageError(
        {.message = fmt::format("'{}' cannot be made", name),
         .found = fmt::format("{} classes, {} input channels", options.num_classes, options.input_channels),
         .expected = "positive numbers, or 0 for the model's own"});
  }
  std::shared_ptr<Model> model = factory(options);
  model->make_again_ = [factory, options] { return factory(options); };
  return model;
}

std::vector<std::string> model_names() {
  return Registry::get().names();
}

bool register_model(const std::string& name, ModelFactory factory) {
  return Registry::get().add(name, std::move(factory));
}

void require_no_resnet_options(const std::string& model, const ModelOptions& options) {
  if (options.stem != Stem::kImagenet) {
    throw UsageError({.message = fmt::format("'{}' has no stem to choose", model),
                      .next = "leave the stem out; resnets, wide_resnets and resnexts have one"});
  }
  if (options.zero_init_residual) {
    throw UsageError({.message = fmt::format("'{}' has no residual blocks to begin with zero", model),
                      .next = "leave zero_init_residual out; resnets, wide_resnets and resnexts have them"});
  }
}

}  // namespace lockstep::nn
