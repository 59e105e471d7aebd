#include <lockstep/config/difference.h>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>

namespace lockstep::config {
namespace {

const Value* find(const Value& root, const std::string& path) {
  const Value* value = &root;
  for (const std::string& name : split(path, '.')) {
    if (value->kind != Value::Kind::kMap) return nullptr;
    value = value->find(name);
    if (value == nullptr) return nullptr;
  }
  return value;
}

}  // namespace

std::string training_hash(const std::vector<Setting>& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    if (setting.shapes_training) text += fmt::format("{}: {}\n", setting.path, setting.value);
  }
  return files::sha256(text);
}

std::string Difference::text() const {
  return fmt::format("{}: {} then, {} now ({})", path, then, now, place ? place->text() : "default");
}

std::vector<Difference> differences(const std::vector<Setting>& now, const std::string& then) {
  const Value root = parse_yaml(then, "the config of then");
  if (root.kind != Value::Kind::kMap) {
    throw UsageError({.message = "the config of then is none", .found = describe(root), .expected = "a map of keys"});
  }
  std::vector<Difference> all;
  for (const Setting& setting : now) {
    if (!setting.shapes_training) continue;
    const Value* value = find(root, setting.path);
    if (value == nullptr && !setting.place) continue;
    const std::string before = value == nullptr ? "not there" : to_flow(*value);
    if (before != setting.value) all.push_back({setting.path, before, setting.value, setting.place});
  }
  return all;
}

}  // namespace lockstep::config
