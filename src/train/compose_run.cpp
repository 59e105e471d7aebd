#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/table.h>
#include <lockstep/base/text.h>
#include <lockstep/config/compose.h>
#include <lockstep/train/arguments.h>

namespace lockstep::train {
namespace {

using config::Value;

Value scalar(const std::string& text, const std::string& source) {
  return {.kind = Value::Kind::kScalar, .text = text, .place = {source}};
}

// The words by what they are.
struct Given {
  std::optional<config::Source> config;
  std::string data, data_source;
};

// "mnist.yaml:" is a config whose section somebody forgot, or has in a variable that is not set.
void require_section_behind_colon(const std::string& word) {
  if (!word.ends_with(':') || !config::is_source(word.substr(0, word.size() - 1))) return;
  throw UsageError({.message = fmt::format("there is no section behind '{}'", word),
                    .next = fmt::format("lockstep train {}SECTION, or without the colon", word)});
}

Given sort_words(const Arguments& arguments) {
  Given given{.config = {}, .data = arguments.data, .data_source = "--data"};
  for (const std::string& word : arguments.words) {
    if (config::is_source(word)) {
      if (given.config) throw UsageError({.message = "two configs are one too many", .found = word});
      given.config = config::parse_source(word);
    } else {
      require_section_behind_colon(word);
      if (!given.data.empty()) {
        throw UsageError({.message = "the data is given twice", .found = given.data + " and " + word});
      }
      given.data = word;
      given.data_source = "DATA";
    }
  }
  if (arguments.section.empty()) return given;
  if (!given.config) {
    throw UsageError({.message = "--config names a section, but there is no config",
                      .found = arguments.section,
                      .next = "lockstep train CONFIG.yaml --config " + arguments.section});
  }
  if (!given.config->section.empty() && given.config->section != arguments.section) {
    throw UsageError({.message = "two sections are one too many",
                      .found = fmt::format("'{}' and --config {}", given.config->section, arguments.section)});
  }
  given.config->section = arguments.section;
  return given;
}

std::vector<std::string> configs_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (config::is_source(entry.path().filename().string())) names.push_back(entry.path().filename().string());
  }
  return names;
}

// Where a config is looked for.
std::vector<std::filesystem::path> folders_of(const std::filesystem::path& file) {
  if (file.has_parent_path()) return {file.parent_path()};
  return {".", "configs", config::shipped_configs()};
}

// `lockstep train mnist` means mnist.yaml, where the word is no path and nobody said what to train on it.
void require_data_and_no_config(const Given& given, const Arguments& arguments) {
  if (given.config || given.data_source != "DATA" || given.data.find('/') != std::string::npos) return;
  if (std::filesystem::exists(given.data)) return;
  const auto& flags = arguments.shorthands;
  if (std::any_of(flags.begin(), flags.end(), [](const auto& flag) { return flag.path == "model.name"; })) return;
  const std::string file = given.data + ".yaml";
  for (const auto& folder : folders_of(file)) {
    if (!std::filesystem::exists(folder / file)) continue;
    throw UsageError(
        {.message = fmt::format("there is no data set '{}' here; did you mean '{}'?", given.data, file),
         .next = fmt::format("lockstep train {}, or -a MODEL to train one of your choice on '{}'", file, given.data)});
  }
}

std::filesystem::path find_config(const std::filesystem::path& file) {
  if (std::filesystem::exists(file)) return file;
  const std::vector<std::filesystem::path> folders = folders_of(file);
  std::vector<std::string> known, looked_in;
  for (const auto& folder : folders) {
    if (std::filesystem::exists(folder / file.filename())) return folder / file.filename();
    looked_in.push_back(folder.string());
    for (std::string& name : configs_in(folder)) known.push_back(std::move(name));
  }
  throw UsageError({.message = fmt::format("there is no config '{}'{}", file.string(),
                                           did_you_mean(file.filename().string(), known)),
                    .expected = "a file in " + format_some(looked_in, looked_in.size())});
}

// Also in the sections that nobody asks for today, and where another value takes the place of the wrong one. A section
// that only others extend has not all keys, so this says nothing of what goes together.
void require_keys_that_fit(const std::filesystem::path& file) {
  RunConfig unused;
  config::Schema schema = schema_of(unused);
  for (const Value& map : config::maps_written_in(file)) schema.read(map);
}

// What was typed, over whatever config.
Value typed_keys(const Arguments& arguments, const Given& given) {
  Value root{.kind = Value::Kind::kMap};
  if (!given.data.empty()) config::put(root, "data.path", scalar(given.data, given.data_source));
  for (const Shorthand& shorthand : arguments.shorthands) {
    config::put(root, shorthand.path, scalar(shorthand.value, shorthand.flag));
    if (shorthand.path == "batch_size_per_rank") {  // it takes the place of a config's
      config::put(root, "batch_size", {.kind = Value::Kind::kNull, .place = {shorthand.flag}});
    }
  }
  for (const std::string& assignment : arguments.assignments) config::set(root, assignment, "--set");
  return root;
}

// What the ImageNet script does when it is told nothing, as far as it fits what was typed.
Value classic_recipe(const Value& typed) {
  const std::string source = "as the ImageNet script";
  Value root{.kind = Value::Kind::kMap};
  const Value* optimizer = typed.find("optimizer");
  const Value* name = optimizer != nullptr && optimizer->kind == Value::Kind::kMap ? optimizer->find("name") : nullptr;
  if (name == nullptr || name->text == "sgd") {
    config::put(root, "optimizer.momentum", scalar("0.9", source));
    config::put(root, "optimizer.weight_decay", scalar("1e-4", source));
  }
  config::put(root, "schedule.rate", scalar("step(30)", source));
  if (typed.find("batch_size_per_rank") == nullptr) config::put(root, "batch_size", scalar("256", source));
  return root;
}

// Data that comes with Lockstep is found from any folder: data/NAME is looked for here first, then where such copies
// are.
std::string find_data(const std::string& path) {
  const std::string prefix = "data/";
  if (!path.starts_with(prefix) || std::filesystem::exists(path)) return path;
  const auto elsewhere = env::get("LOCKSTEP_DATA_DIR");
  const std::filesystem::path copies =
      elsewhere ? std::filesystem::path(*elsewhere) : files::installation_folder() / "share/lockstep/data";
  const auto found = copies / path.substr(prefix.size());
  return std::filesystem::exists(found) ? found.string() : path;
}

std::string name_of(const Given& given, const RunConfig& config) {
  if (!config.name.empty()) return config.name;
  if (!given.config) return std::filesystem::path(config.model.name).stem().string();
  const std::string file = given.config->file.stem().string();
  return given.config->section.empty() ? file : file + "-" + given.config->section;
}

std::string may_change(const config::KeyInfo& key) {
  return key.shapes_training ? "" : "yes";
}

struct Composed {
  RunOptions options;
  std::string annotated;
};

Composed compose(const Arguments& arguments) {
  Given given = sort_words(arguments);
  require_data_and_no_config(given, arguments);
  const Value typed = typed_keys(arguments, given);
  if (given.config) {
    given.config->file = find_config(given.config->file);
    require_keys_that_fit(given.config->file);
  }
  Value root = given.config ? config::load(*given.config) : classic_recipe(typed);
  config::merge(root, typed);

  RunConfig config;
  config::Schema schema = schema_of(config);
  read_config(schema, config, root);
  Composed composed{.options = {.config = config,
                                .settings = schema.settings(),
                                .config_yaml = schema.to_yaml(),
                                .name = name_of(given, config),
                                .resume = arguments.resume,
                                .evaluate = arguments.evaluate},
                    .annotated = schema.to_annotated_yaml()};
  // Where it lies is each node's own affair: ranks compare what is written.
  DataKeys& data = composed.options.config.data;
  data.path = find_data(data.path);
  data.test_path = find_data(data.test_path);
  return composed;
}

}  // namespace

RunOptions compose_run(const Arguments& arguments) {
  Composed composed = compose(arguments);
  if (composed.options.config.data.path.empty()) {
    throw UsageError({.message = "there is no data to train on",
                      .expected = "data.path in the config, or --data PATH",
                      .next = "lockstep train mnist.yaml, or lockstep train -a resnet50 /data/imagenet"});
  }
  return std::move(composed.options);
}

std::string print_config(const Arguments& arguments) {
  return compose(arguments).annotated;
}

std::string list_keys(bool markdown) {
  RunConfig config;
  const auto keys = schema_of(config).keys();
  if (!markdown) {
    Table table({{.key = "key"}, {.key = "default"}, {.key = "type"}, {.key = "may change"}, {.key = "meaning"}});
    for (const auto& key : keys) table.add_row({key.path, key.fallback, key.type, may_change(key), key.meaning});
    return table.to_text();
  }
  std::string text =
      "# Keys of a config\n\n"
      "Made by `lockstep train --list-keys --markdown`. How a config is written stands in [Training](training.md). "
      "Keys\n"
      "that may change can have another value when a run goes on from a checkpoint.\n\n"
      "| key | default | type | may change | meaning |\n|---|---|---|---|---|\n";
  for (const auto& key : keys) {
    text +=
        fmt::format("| `{}` | `{}` | {} | {} | {} |\n", key.path, key.fallback, key.type, may_change(key), key.meaning);
  }
  return text;
}

}  // namespace lockstep::train
