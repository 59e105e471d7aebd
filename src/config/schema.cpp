#include <lockstep/config/schema.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "variable.h"

namespace lockstep::config {
namespace {

std::string last_name(const std::string& path) {
  return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
}

}  // namespace

void Schema::add(const std::string& path, Variable variable, KeyOptions options) {
  keys_.push_back({.path = path, .variable = variable, .options = std::move(options), .fallback = show(variable)});
}

bool Schema::is_section(const std::string& path) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) { return key.path.starts_with(path + "."); });
}

void Schema::refuse(const Entry& entry, const std::string& prefix) const {
  // The names of this section; or, for what stands in the wrong one, where it belongs.
  std::vector<std::string> here, elsewhere;
  for (const Key& key : keys_) {
    if (last_name(key.path) == entry.key) elsewhere.push_back(key.path);
    if (!key.path.starts_with(prefix)) continue;
    const std::string rest = key.path.substr(prefix.size());
    const std::string name = rest.substr(0, rest.find('.'));
    if (here.empty() || here.back() != name) here.push_back(name);
  }
  const std::string section = prefix.empty() ? "" : fmt::format(" in '{}'", prefix.substr(0, prefix.size() - 1));
  std::vector<std::string> meant = elsewhere;
  if (const std::string near = nearest_name(entry.key, here); !near.empty()) {
    if (elsewhere.size() > 1) meant.clear();
    meant.insert(meant.begin(), near);
  }
  const std::string hint = meant.empty() ? "" : fmt::format("; did you mean '{}'?", fmt::join(meant, "' or '"));
  throw UsageError(fmt::format("{}: unknown key '{}'{}{}", entry.place.text(), entry.key, section, hint));
}

void Schema::read_map(const Value& map, const std::string& prefix) {
  for (const Entry& entry : map.entries) {
    const std::string path = prefix + entry.key;
    const auto key = std::find_if(keys_.begin(), keys_.end(), [&](const Key& known) { return known.path == path; });
    if (key != keys_.end()) {
      if (entry.value.kind == Value::Kind::kNull) continue;  // as if it were not there
      read_into(key->variable, entry.value, path, key->options);
      key->place = entry.value.place;
    } else if (!is_section(path)) {
      refuse(entry, prefix);
    } else if (entry.value.kind == Value::Kind::kMap) {
      read_map(entry.value, path + ".");
    } else if (entry.value.kind != Value::Kind::kNull) {
      // "optimizer: adam" means its name.
      const bool has_name =
          entry.value.kind == Value::Kind::kScalar &&
          std::any_of(keys_.begin(), keys_.end(), [&](const Key& k) { return k.path == path + ".name"; });
      throw UsageError({.message = fmt::format("{}: '{}' is a section{}", entry.value.place.text(), path,
                                               has_name ? fmt::format("; did you mean '{}.name'?", path) : ""),
                        .found = describe(entry.value),
                        .expected = entry.value.place.line > 0 ? "keys, each on a line of its own and indented"
                                                               : fmt::format("a key of it: {}.KEY=VALUE", path)});
    }
  }
}

void Schema::read(const Value& root) {
  read_map(root, "");
}

std::vector<KeyInfo> Schema::keys() const {
  std::vector<KeyInfo> infos;
  infos.reserve(keys_.size());
  for (const Key& key : keys_) {
    infos.push_back({.path = key.path,
                     .type = describe_type(key.variable, key.options),
                     .fallback = key.fallback,
                     .meaning = key.options.meaning,
                     .shapes_training = key.options.shapes_training});
  }
  return infos;
}

std::vector<Setting> Schema::settings() const {
  std::vector<Setting> settings;
  settings.reserve(keys_.size());
  for (const Key& key : keys_) {
    settings.push_back({.path = key.path,
                        .value = show(key.variable),
                        .place = key.place,
                        .shapes_training = key.options.shapes_training});
  }
  return settings;
}

std::string Schema::to_yaml() const {
  return to_yaml(false);
}

std::string Schema::to_annotated_yaml() const {
  return to_yaml(true);
}

std::string Schema::to_yaml(bool annotated) const {
  constexpr std::size_t kCommentColumn = 40;  // where most values have ended
  std::string text;
  std::vector<std::string> open;  // sections
  for (const Setting& setting : settings()) {
    std::vector<std::string> names = split(setting.path, '.');
    const std::string name = names.back();
    names.pop_back();
    std::size_t common = 0;
    while (common < std::min(open.size(), names.size()) && open[common] == names[common]) ++common;
    for (std::size_t i = common; i < names.size(); ++i) text += std::string(2 * i, ' ') + names[i] + ":\n";
    open = names;
    const std::string line = fmt::format("{}{}: {}", std::string(2 * names.size(), ' '), name, setting.value);
    const std::string source = setting.place ? escape_controls(setting.place->text()) : "default";
    text += annotated ? fmt::format("{:<{}}  # {}\n", line, kCommentColumn, source) : line + "\n";
  }
  return text;
}

}  // namespace lockstep::config
