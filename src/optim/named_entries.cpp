#include "named_entries.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::optim {
namespace {

constexpr std::size_t kNamed = 4;  // at most, in an error

std::string shape(at::IntArrayRef sizes) {
  return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ", "));
}

}  // namespace

NamedEntries::NamedEntries(std::string what, const std::map<std::string, at::Tensor>& entries)
    : what_(std::move(what)), entries_(entries) {}

const at::Tensor& NamedEntries::at(const std::string& name, at::IntArrayRef sizes) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, tensor] : entries_) names.push_back(known);
    throw UsageError({.message = fmt::format("{} has no '{}'{}", what_, name, did_you_mean(name, names)),
                      .next = "load what was saved from a model with the same parameters"});
  }
  if (found->second.sizes() != sizes) {
    throw UsageError({.message = fmt::format("'{}' in {} has another shape than the model's", name, what_),
                      .found = shape(found->second.sizes()),
                      .expected = shape(sizes)});
  }
  used_.insert(name);
  return found->second;
}

void NamedEntries::require_all_used() const {
  std::vector<std::string> unknown;
  for (const auto& [name, tensor] : entries_) {
    if (used_.count(name) == 0) unknown.push_back(name);
  }
  if (unknown.empty()) return;
  throw UsageError({.message = fmt::format("{} has entries that do not belong to this model", what_),
                    .found = format_some(unknown, kNamed),
                    .next = "load what was saved from a model with the same parameters"});
}

}  // namespace lockstep::optim
