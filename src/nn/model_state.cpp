#include <lockstep/nn/model_state.h>

#include <algorithm>
#include <map>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::nn {
namespace {

constexpr std::size_t kMostNames = 5;  // in a message

std::string prefix_of(const std::string& name) {
  return name.substr(0, name.rfind('.') + 1);
}

struct Pair {
  std::string name;
  at::Tensor own, given;

  bool fits() const { return own.sizes() == given.sizes(); }
};

// What the given tensors are to the model's.
struct Comparison {
  std::vector<Pair> pairs;
  LoadedState left_out;
};

Comparison compare(const NamedState& own, const NamedState& given, const std::string& skipped) {
  const auto is_skipped = [&](const std::string& name) { return !skipped.empty() && name.starts_with(skipped); };
  std::map<std::string, at::Tensor> rest(given.begin(), given.end());
  Comparison result;
  for (const auto& [name, tensor] : own) {
    const auto found = rest.find(name);
    if (found != rest.end() && !is_skipped(name)) result.pairs.push_back({name, tensor, found->second});
    if (found == rest.end() && !is_skipped(name)) result.left_out.missing.push_back(name);
    if (found != rest.end()) rest.erase(found);
  }
  for (const auto& [name, tensor] : rest) {
    if (!is_skipped(name)) result.left_out.unexpected.push_back(name);
  }
  return result;
}

// "the weights have 1000 classes, the model has 100", when that is the only difference.
void require_classes(const Model& model, const std::vector<Pair>& misfits) {
  const std::string classifier = classifier_of(model);
  const bool only_classes = !classifier.empty() && std::all_of(misfits.begin(), misfits.end(), [&](const Pair& pair) {
    return prefix_of(pair.name) == classifier && pair.own.dim() == pair.given.dim() && pair.own.dim() > 0 &&
           pair.own.sizes().slice(1) == pair.given.sizes().slice(1);
  });
  if (!only_classes) return;
  const std::int64_t classes = misfits.front().given.size(0);
  throw UsageError(
      {.message = fmt::format("the weights have {} classes, the model has {}", classes, model.num_classes()),
       .next = fmt::format("make the model with num_classes {}, or leave the classifier '{}' out (skip_classifier) and "
                           "train a new one",
                           classes, classifier.substr(0, classifier.size() - 1))});
}

void require_shapes(const Model& model, const std::vector<Pair>& pairs) {
  std::vector<Pair> misfits;
  std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(misfits), [](const Pair& pair) { return !pair.fits(); });
  if (misfits.empty()) return;
  require_classes(model, misfits);
  std::vector<std::string> texts;
  for (const Pair& pair : misfits) {
    texts.push_back(c10::str("'", pair.name, "' ", pair.given.sizes(), ", in the model ", pair.own.sizes()));
  }
  throw UsageError(
      {.message = "the weights have other shapes than the model", .found = format_some(texts, kMostNames)});
}

void require_all(const LoadedState& left_out, const NamedState& own) {
  if (left_out.missing.empty() && left_out.unexpected.empty()) return;
  std::vector<std::string> texts;
  if (!left_out.missing.empty()) texts.push_back("missing are " + format_some(left_out.missing, kMostNames));
  if (!left_out.unexpected.empty()) texts.push_back("unexpected are " + format_some(left_out.unexpected, kMostNames));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : own) names.push_back(name);
  std::string hint;
  if (!left_out.unexpected.empty()) {
    const std::string& first = left_out.unexpected.front();
    hint = first.starts_with("module.") ? "; 'module.' stands before names that a wrapper for several GPUs wrote"
                                        : did_you_mean(first, names);
  }
  throw UsageError({.message = "the weights are not those of this model" + hint,
                    .found = fmt::format("{}", fmt::join(texts, "; ")),
                    .next = "check which model they come from, or load what fits (strict = false)"});
}

}  // namespace

NamedState state_of_model(const torch::nn::Module& model) {
  NamedState state;
  for (const auto& parameter : model.named_parameters()) state.emplace_back(parameter.key(), parameter->detach());
  for (const auto& buffer : model.named_buffers()) state.emplace_back(buffer.key(), buffer->detach());
  return state;
}

std::string classifier_of(const Model& model) {
  std::string classifier;
  for (const auto& parameter : model.named_parameters()) {
    if (parameter->dim() < 2) continue;
    classifier = parameter->size(0) == model.num_classes() ? prefix_of(parameter.key()) : "";
  }
  return classifier;
}

LoadedState load_state(Model& model, const NamedState& tensors, const LoadStateOptions& options) {
  const NamedState own = state_of_model(model);
  const Comparison comparison = compare(own, tensors, options.skip_classifier ? classifier_of(model) : "");
  if (options.strict) require_all(comparison.left_out, own);
  require_shapes(model, comparison.pairs);
  const at::NoGradGuard no_gradients;
  for (const Pair& pair : comparison.pairs) pair.own.copy_(pair.given);
  return comparison.left_out;
}

}  // namespace lockstep::nn
