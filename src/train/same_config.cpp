#include "same_config.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "together.h"

namespace lockstep::train {
namespace {

constexpr std::size_t kMostShown = 8;  // keys, and values of each

// "seed (1 on rank 0, 2 on ranks 1, 3)"; empty where all have the same.
std::string difference(const std::string& path, const std::vector<nlohmann::json>& all) {
  std::map<std::string, std::vector<int>> ranks_of;  // by value
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    ranks_of[all[rank].value(path, "nothing")].push_back(static_cast<int>(rank));
  }
  if (ranks_of.size() == 1) return "";
  std::vector<std::string> values;
  for (const auto& [value, ranks] : ranks_of) values.push_back(fmt::format("{} on {}", value, format_ranks(ranks)));
  return fmt::format("{} ({})", path, format_some(values, kMostShown));
}

}  // namespace

void require_same_config(const std::vector<config::Setting>& settings, const Group& group) {
  nlohmann::json own = nlohmann::json::object();
  for (const auto& setting : settings) own[setting.path] = setting.value;
  const auto all = group.all_gather_json(own);
  std::vector<std::string> found;
  for (const auto& setting : settings) {
    if (auto text = difference(setting.path, all); !text.empty()) found.push_back(std::move(text));
  }
  // All ranks know it; one tells.
  together(group, [&] {
    if (found.empty()) return;
    throw UsageError({.message = fmt::format("ranks have different configs: {} differ{}",
                                             format_plural(static_cast<std::int64_t>(found.size()), "key"),
                                             found.size() == 1 ? "s" : ""),
                      .found = format_some(found, kMostShown),
                      .next = "start all ranks with one and the same config and flags"});
  });
}

}  // namespace lockstep::train
