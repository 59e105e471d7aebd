#include "same_parameters.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "../comm/operation.h"

namespace lockstep::parallel {
namespace {

std::string describe(const std::pair<std::string, at::Tensor>& named) {
  const auto& [name, tensor] = named;
  return fmt::format("'{}' {}{} on {}{}", name, comm::describe_tensor(tensor),
                     tensor.is_contiguous() ? "" : fmt::format(" with strides {}", fmt::join(tensor.strides(), ", ")),
                     c10::DeviceTypeName(tensor.device().type(), /*lower_case=*/true),
                     tensor.requires_grad() ? "" : ", frozen");
}

using Differences = std::map<std::string, std::vector<int>>;

std::string in_words(const Differences& ranks_by_value) {
  std::vector<std::string> sentences;
  for (const auto& [value, ranks] : ranks_by_value) {
    sentences.push_back(fmt::format("{}: {}", format_ranks(ranks), value));
  }
  return fmt::format("{}", fmt::join(sentences, "; "));
}

void require_one(const Differences& ranks_by_value, const std::string& message) {
  if (ranks_by_value.size() > 1) throw UsageError({.message = message, .found = in_words(ranks_by_value)});
}

// What a rank tells the others: its options and parameters, or why it has none.
struct Statement {
  std::string error;
  std::string options;
  std::vector<std::string> parameters;
};

std::vector<Statement> exchange(const Group& group, const Statement& mine) {
  std::vector<Statement> all;
  for (const auto& told :
       group.all_gather_json({{"error", mine.error}, {"options", mine.options}, {"parameters", mine.parameters}})) {
    all.push_back({told.at("error"), told.at("options"), told.at("parameters")});
  }
  return all;
}

// The parameter at which the lists of ranks differ first.
void require_equal(const std::string& who, const std::vector<Statement>& statements) {
  Differences options;
  std::size_t longest = 0;
  for (std::size_t rank = 0; rank < statements.size(); ++rank) {
    options[statements[rank].options].push_back(static_cast<int>(rank));
    longest = std::max(longest, statements[rank].parameters.size());
  }
  require_one(options, fmt::format("{}: the ranks have different options", who));
  for (std::size_t i = 0; i < longest; ++i) {
    Differences here;
    for (std::size_t rank = 0; rank < statements.size(); ++rank) {
      const auto& lines = statements[rank].parameters;
      here[i < lines.size() ? lines[i] : "nothing"].push_back(static_cast<int>(rank));
    }
    if (here.size() == 1) continue;
    throw UsageError({.message = fmt::format("{}: the ranks have different parameters, first at number {}", who, i + 1),
                      .found = in_words(here),
                      .expected = "the same parameters in the same order on every rank",
                      .next = "build the same model on every rank"});
  }
}

}  // namespace

NamedTensors::List distinct(const std::string& who, const NamedTensors& tensors) {
  NamedTensors::List result;
  std::unordered_set<std::string> names;
  std::unordered_set<const void*> seen;
  for (const auto& [name, tensor] : tensors.list) {
    if (!tensor.defined()) throw UsageError(fmt::format("{}: the parameter '{}' is undefined", who, name));
    if (!seen.insert(tensor.unsafeGetTensorImpl()).second) continue;
    if (!names.insert(name).second) {
      throw UsageError({.message = fmt::format("{}: two parameters have one name", who),
                        .found = "'" + name + "'",
                        .expected = "a name for each, as named_parameters() of one module gives them"});
    }
    result.emplace_back(name, tensor);
  }
  if (result.empty()) {
    throw UsageError({.message = fmt::format("{}: there are no parameters", who),
                      .next = "give it the named_parameters() of a module that has some"});
  }
  return result;
}

NamedTensors::List parameters_of(const std::string& who, const torch::optim::Optimizer& optimizer,
                                 const NamedTensors& tensors) {
  std::unordered_map<const void*, at::Tensor> owned;
  for (const auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) owned.emplace(parameter.unsafeGetTensorImpl(), parameter);
  }
  if (owned.empty()) {
    throw UsageError({.message = fmt::format("{}: the optimizer has no parameters", who),
                      .next = "give it the parameters() of a module that has some"});
  }
  NamedTensors::List result;
  for (auto& named : distinct(who, tensors)) {
    if (owned.erase(named.second.unsafeGetTensorImpl()) == 1) result.push_back(std::move(named));
  }
  if (!owned.empty()) {
    throw UsageError({.message = fmt::format("{}: {} of the optimizer's parameters have no name", who, owned.size()),
                      .found = "for instance " + comm::describe_tensor(owned.begin()->second),
                      .expected = "named_parameters() of the module whose parameters() the optimizer has"});
  }
  return result;
}

NamedTensors::List require_same(const Group& group, const std::string& who, const std::string& options,
                                const std::function<NamedTensors::List()>& find) {
  NamedTensors::List list;
  std::optional<UsageError> own;
  try {
    list = find();
  } catch (const UsageError& error) {
    own = error;
  }
  Statement mine{.error = own ? own->what() : "", .options = options, .parameters = {}};
  for (const auto& named : list) mine.parameters.push_back(describe(named));
  // An error of this rank is told to the others before it is thrown: they would wait for it in vain.
  const auto statements = exchange(group, mine);
  if (own) throw UsageError(*own);
  for (std::size_t rank = 0; rank < statements.size(); ++rank) {
    if (statements[rank].error.empty()) continue;
    throw UsageError(
        {.message = fmt::format("{}: rank {} cannot take part", who, rank), .found = statements[rank].error});
  }
  require_equal(who, statements);
  return list;
}

void require_same_text(const Group& group, const std::string& message, const std::string& mine) {
  Differences ranks_by_text;
  const auto all = group.all_gather_text(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) ranks_by_text[all[rank]].push_back(static_cast<int>(rank));
  require_one(ranks_by_text, message);
}

}  // namespace lockstep::parallel
