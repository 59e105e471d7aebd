#include "same_module.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::parallel {
namespace {

// One line a tensor. Layouts belong to it: elements are sent in the order in which they lie in memory.
std::string describe(const ModuleState& state) {
  std::string text;
  const auto add = [&](const char* kind, const NamedTensor& named) {
    const at::Tensor& tensor = named.tensor;
    fmt::format_to(std::back_inserter(text), "{} {}: {}[{}]{}, strides [{}]\n", kind, named.name,
                   c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ","),
                   tensor.requires_grad() ? "" : ", frozen", fmt::join(tensor.strides(), ","));
  };
  for (const NamedTensor& named : state.parameters) add("parameter", named);
  for (const NamedTensor& named : state.buffers) add("buffer", named);
  return text;
}

// FNV-1a: not against enemies, only so that thousands of ranks need not gather every text.
std::int64_t digest(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return static_cast<std::int64_t>(hash);
}

std::string first_difference(const std::string& expected, const std::string& found) {
  const auto here = split(found, '\n'), there = split(expected, '\n');
  std::size_t i = 0;
  while (i < here.size() && i < there.size() && here[i] == there[i]) ++i;
  const auto line = [i](const std::vector<std::string>& lines) {
    return i < lines.size() && !lines[i].empty() ? lines[i] : "nothing more";
  };
  return fmt::format("{}, where rank 0 has {}", line(here), line(there));
}

// The ranks that say each thing, in the order of the first of them.
std::string tell(const std::vector<std::string>& sayings) {
  std::vector<std::pair<std::string, std::vector<int>>> ranks_of;
  for (std::size_t rank = 0; rank < sayings.size(); ++rank) {
    if (sayings[rank].empty()) continue;
    const auto known =
        std::find_if(ranks_of.begin(), ranks_of.end(), [&](const auto& pair) { return pair.first == sayings[rank]; });
    auto& ranks =
        known == ranks_of.end() ? ranks_of.emplace_back(sayings[rank], std::vector<int>{}).second : known->second;
    ranks.push_back(static_cast<int>(rank));
  }
  std::vector<std::string> parts;
  for (const auto& [saying, ranks] : ranks_of) parts.push_back(fmt::format("{}: {}", format_ranks(ranks), saying));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

void require_same_module(const ModuleState& state, const Group& group, const std::string& problem) {
  const bool all_well = group.all_reduce_value(std::int64_t{problem.empty() ? 0 : 1}, Reduce::kMax) == 0;
  if (!all_well) {
    throw UsageError(
        {.message = "the module cannot be trained in parallel", .found = tell(group.all_gather_text(problem))});
  }
  const std::string text = describe(state);
  const std::int64_t own = digest(text);
  const std::int64_t least = group.all_reduce_value(own, Reduce::kMin);
  const std::int64_t greatest = group.all_reduce_value(own, Reduce::kMax);
  if (least == greatest) return;
  const std::string expected = group.broadcast_text(text);
  const auto differences = group.all_gather_text(text == expected ? "" : first_difference(expected, text));
  throw UsageError({.message = "the ranks do not hold the same module",
                    .found = tell(differences),
                    .next = "build the module from the same code and options on every rank"});
}

}  // namespace lockstep::parallel
