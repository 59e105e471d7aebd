#include <lockstep/parallel/sync_batch_norm.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/nn/modules/container/sequential.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "synchronized_normalizer.h"

namespace lockstep {
namespace {

using torch::nn::Module;
using torch::nn::SequentialImpl;

// What there is to convert, found before anything is changed.
struct Plan {
  struct Element {
    SequentialImpl* sequential;
    std::size_t index;
    std::string name;  // in the sequential
    std::shared_ptr<nn::BatchNormImpl> replacement;
  };
  std::vector<nn::BatchNormImpl*> own;
  std::vector<Element> elements;
  std::vector<std::string> unreachable;
  std::string description;  // equal on ranks whose modules are alike
};

// Nothing if `module` is none of torch's.
std::shared_ptr<nn::BatchNormImpl> replacement_for(const Module& module) {
  if (const auto* norm = module.as<torch::nn::BatchNorm1dImpl>()) return std::make_shared<nn::BatchNormImpl>(*norm);
  if (const auto* norm = module.as<torch::nn::BatchNorm2dImpl>()) return std::make_shared<nn::BatchNormImpl>(*norm);
  if (const auto* norm = module.as<torch::nn::BatchNorm3dImpl>()) return std::make_shared<nn::BatchNormImpl>(*norm);
  return nullptr;
}

void describe(Plan& plan, const std::string& path, std::int64_t channels) {
  plan.description += fmt::format("'{}' with {}\n", path, format_plural(channels, "channel"));
}

void find(Plan& plan, Module& module, const std::string& path) {
  if (auto* norm = module.as<nn::BatchNormImpl>()) {
    plan.own.push_back(norm);
    describe(plan, path, norm->options.num_features());
  } else if (replacement_for(module)) {
    plan.unreachable.push_back(path);
  }
  auto* sequential = module.as<SequentialImpl>();
  std::size_t index = 0;
  for (const auto& child : module.named_children()) {
    const std::string child_path = path.empty() ? child.key() : path + "." + child.key();
    auto replacement = sequential != nullptr ? replacement_for(*child.value()) : nullptr;
    if (replacement) {
      describe(plan, child_path, replacement->options.num_features());
      plan.elements.push_back({sequential, index, child.key(), std::move(replacement)});
    } else {
      find(plan, *child.value(), child_path);
    }
    ++index;
  }
}

// Collective: throws on every rank if the texts, of one line for each normalization, differ.
void require_agreement(const Group& group, const std::string& description) {
  const auto all = group.all_gather_text(description);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const auto first = split(all[0], '\n'), other = split(all[rank], '\n');
    const std::size_t count = std::max(first.size(), other.size());
    std::size_t line = 0;
    while (line + 1 < count && line < first.size() && line < other.size() && first[line] == other[line]) ++line;
    const auto at = [line](const std::vector<std::string>& lines) {
      return line < lines.size() && !lines[line].empty() ? lines[line] : std::string("no more");
    };
    throw UsageError({.message = "the ranks do not normalize the same channels",
                      .found = fmt::format("{} on rank 0, {} on rank {}", at(first), at(other), rank),
                      .expected = "the same module on every rank"});
  }
}

}  // namespace

SyncBatchNorm::SyncBatchNorm(const torch::nn::BatchNormOptions& options, const Group& group)
    : ModuleHolder(std::make_shared<nn::BatchNormImpl>(options)) {
  require_agreement(group, fmt::format("a SyncBatchNorm with {}", format_plural(options.num_features(), "channel")));
  impl_->set_normalizer(parallel::synchronized_normalizer(group));
}

int convert_sync_batch_norm(torch::nn::Module& module, const Group& group) {
  Plan plan;
  find(plan, module, "");
  require_agreement(group, plan.description + fmt::format("{}", fmt::join(plan.unreachable, "\n")));
  if (!plan.unreachable.empty()) {
    throw UsageError({.message = "a normalization cannot be replaced from outside of its module",
                      .found = fmt::format("'{}', a torch::nn::BatchNorm that is no element of a torch::nn::Sequential",
                                           fmt::join(plan.unreachable, "', '")),
                      .next = "declare it as lockstep::nn::BatchNorm"});
  }
  for (auto& element : plan.elements) {
    *(element.sequential->begin() + static_cast<std::ptrdiff_t>(element.index)) =
        torch::nn::AnyModule(element.replacement);
    element.sequential->replace_module(element.name, element.replacement);
    plan.own.push_back(element.replacement.get());
  }
  for (auto* norm : plan.own) norm->set_normalizer(parallel::synchronized_normalizer(group));
  return static_cast<int>(plan.own.size());
}

}  // namespace lockstep
