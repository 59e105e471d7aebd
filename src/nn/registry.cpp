#include <lockstep/nn/registry.h>

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "families.h"

namespace lockstep::nn {
namespace {

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
    for (const auto& family : {resnets, chain_nets, classic_nets}) {
      for (auto& model : family()) models_.push_back(std::move(model));
    }
  }

  NamedFactories::iterator find(const std::string& name) {
    return std::find_if(models_.begin(), models_.end(), [&](const auto& model) { return model.first == name; });
  }

  std::mutex mutex_;
  NamedFactories models_;
};

}  // namespace

std::shared_ptr<Model> make_model(const std::string& name, const ModelOptions& options) {
  const ModelFactory factory = Registry::get().factory(name);
  if (!factory) {
    const auto names = model_names();
    throw UsageError({.message = fmt::format("there is no model '{}'{}", name, did_you_mean(name, names)),
                      .expected = fmt::format("one of {}", fmt::join(names, ", "))});
  }
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

void require_no_stem(const std::string& model, const ModelOptions& options) {
  if (options.stem == Stem::kImagenet) return;
  throw UsageError({.message = fmt::format("'{}' has no stem to choose", model),
                    .next = "leave the stem out; resnets, wide_resnets and resnexts have one"});
}

}  // namespace lockstep::nn
