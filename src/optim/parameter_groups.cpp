#include <lockstep/optim/parameter_groups.h>

#include <string_view>
#include <unordered_set>

#include <lockstep/base/errors.h>

namespace lockstep::optim {
namespace {

void drop_suffix(std::string_view& text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
}

// "torch::nn::BatchNorm2dImpl"
bool is_normalization(const torch::nn::Module& module) {
  const std::string full_name = module.name();
  std::string_view type = full_name;
  drop_suffix(type, "Impl");
  for (const char* dimensions : {"1d", "2d", "3d"}) drop_suffix(type, dimensions);
  return type.ends_with("Norm");
}

// Modules inside of a normalization belong to it.
void collect(const torch::nn::Module& module, const std::string& prefix, bool normalizes, bool decays_all,
             std::unordered_set<const void*>& seen, ParameterGroup& decayed, ParameterGroup& others) {
  normalizes = normalizes || is_normalization(module);
  for (const auto& parameter : module.named_parameters(/*recurse=*/false)) {
    if (!parameter->requires_grad() || !seen.insert(parameter->unsafeGetTensorImpl()).second) continue;
    const bool is_other = normalizes || parameter->dim() <= 1 || parameter.key() == "bias";
    ParameterGroup& group = is_other && !decays_all ? others : decayed;
    group.parameter_names.push_back(prefix + parameter.key());
    group.parameters.push_back(parameter.value());
  }
  for (const auto& child : module.named_children()) {
    collect(*child.value(), prefix + child.key() + ".", normalizes, decays_all, seen, decayed, others);
  }
}

}  // namespace

std::vector<ParameterGroup> parameter_groups(const torch::nn::Module& model, const ParameterGroupOptions& options) {
  ParameterGroup decayed{.name = "decay", .parameter_names = {}, .parameters = {}};
  ParameterGroup others{.name = "no_decay", .parameter_names = {}, .parameters = {}, .weight_decay = 0};
  std::unordered_set<const void*> seen;
  collect(model, "", false, options.decay_norms_and_biases, seen, decayed, others);
  std::vector<ParameterGroup> groups;
  for (ParameterGroup* group : {&decayed, &others}) {
    if (!group->parameters.empty()) groups.push_back(std::move(*group));
  }
  if (groups.empty()) {
    throw UsageError({.message = "the model has no parameter to optimize",
                      .next = "set requires_grad on those that shall be trained"});
  }
  return groups;
}

}  // namespace lockstep::optim
