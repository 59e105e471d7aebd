// Whether two configs describe the same training.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <lockstep/config/schema.h>

namespace lockstep::config {

// SHA-256 of all settings that shape training: equal for configs that lead to the same training, whatever their files
// look like.
std::string training_hash(const std::vector<Setting>& settings);

struct Difference {
  std::string path;
  std::string then, now;  // as YAML
  std::optional<Place> place;

  // "optimizer.lr: 0.1 then, 0.2 now (configs/x.yaml:14)"
  std::string text() const;
};

// The settings that shape training and differ from `then`, a config that to_yaml() wrote. A key that `then` does not
// have, because it is older than the key, differs only when it is set now. Throws UsageError for a text that is no
// config.
std::vector<Difference> differences(const std::vector<Setting>& now, const std::string& then);

}  // namespace lockstep::config
