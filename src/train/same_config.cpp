#include "same_config.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::train {

void require_same_config(const std::vector<config::Setting>& settings, const Group& group) {
  nlohmann::json own = nlohmann::json::object();
  for (const auto& setting : settings) own[setting.path] = setting.value;
  const auto all = group.all_gather_json(own);
  for (const auto& setting : settings) {
    std::map<std::string, std::vector<int>> ranks_of;  // by value
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      ranks_of[all[rank].value(setting.path, "nothing")].push_back(static_cast<int>(rank));
    }
    if (ranks_of.size() == 1) continue;
    std::string found;
    for (const auto& [value, ranks] : ranks_of) {
      found += fmt::format("{}{} on {}", found.empty() ? "" : ", ", value, format_ranks(ranks));
    }
    throw UsageError({.message = fmt::format("ranks have different configs: '{}' differs", setting.path),
                      .found = found,
                      .next = "start all ranks with one and the same config and flags"});
  }
}

}  // namespace lockstep::train
