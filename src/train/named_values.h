// Maps whose names begin with what they are of: "optimizer/fc.weight", "schedule.step".
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace lockstep::train {

template <typename Value>
using NamedValues = std::map<std::string, Value>;

// Adds `part`, each name with `prefix` before it.
template <typename Value>
void add_named(NamedValues<Value>& all, std::string_view prefix, const NamedValues<Value>& part) {
  for (const auto& [name, value] : part) all.emplace(std::string(prefix) + name, value);
}

// Those whose names begin with `prefix`, without it.
template <typename Value>
NamedValues<Value> part_named(const NamedValues<Value>& all, std::string_view prefix) {
  NamedValues<Value> part;
  for (const auto& [name, value] : all) {
    if (name.starts_with(prefix)) part.emplace(name.substr(prefix.size()), value);
  }
  return part;
}

}  // namespace lockstep::train
