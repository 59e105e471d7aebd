#pragma once
#include <string>
#include <vector>

#include <lockstep/base/text.h>
#include <lockstep/train/run_config.h>

namespace lockstep::test {

// The words that a key of a run's config takes.
inline std::vector<std::string> choices_of(const std::string& path) {
  train::RunConfig config;
  for (const auto& key : train::schema_of(config).keys()) {
    if (key.path != path) continue;
    const std::string list = key.type.substr(std::string("one of ").size());
    std::vector<std::string> words;
    for (const std::string& word : split(list, ',')) words.push_back(word.starts_with(' ') ? word.substr(1) : word);
    return words;
  }
  return {};
}

}  // namespace lockstep::test
