// Where the keys of a config got their values, for messages.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <lockstep/config/schema.h>

namespace lockstep::train {

// It must not outlive the settings.
class Places {
 public:
  explicit Places(const std::vector<config::Setting>& settings) : settings_(settings) {}

  // For the beginning of a message: "a.yaml:3: ", or nothing for a default.
  std::string before(const std::string& path) const {
    const std::string place = of(path);
    return place.empty() ? "" : place + ": ";
  }
  // "batch_size = 256 (a.yaml:3)"
  std::string shown(const std::string& path) const {
    const config::Setting* setting = find(path);
    const std::string place = of(path);
    return fmt::format("{} = {} ({})", path, setting == nullptr ? "?" : setting->value,
                       place.empty() ? "default" : place);
  }
  bool is_given(const std::string& path) const { return !of(path).empty(); }

 private:
  const config::Setting* find(const std::string& path) const {
    const auto found = std::find_if(settings_.begin(), settings_.end(), [&](const auto& s) { return s.path == path; });
    return found == settings_.end() ? nullptr : &*found;
  }
  std::string of(const std::string& path) const {
    const config::Setting* setting = find(path);
    return setting == nullptr || !setting->place ? "" : setting->place->text();
  }

  const std::vector<config::Setting>& settings_;
};

}  // namespace lockstep::train
