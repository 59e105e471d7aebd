#include <lockstep/config/compose.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>

namespace lockstep::config {
namespace {

constexpr std::size_t kMostExtended = 16;  // in a row
constexpr std::size_t kMostLoaded = 256;   // in all
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;

const std::string kExtends = "extends", kSections = "sections";

bool names_file(const std::string& text) {
  return text.ends_with(".yaml") || text.ends_with(".yml");
}

Value read_map(const std::filesystem::path& file) {
  Value root = parse_yaml(files::read(file, kMostBytes), file.string());
  if (root.kind == Value::Kind::kNull) return {.kind = Value::Kind::kMap, .place = {file.string(), 1}};  // empty
  if (root.kind != Value::Kind::kMap) {
    throw UsageError({.message = fmt::format("{}: this is no config", root.place.text()),
                      .found = describe(root),
                      .expected = "a map of keys"});
  }
  return root;
}

// The map under `sections`, or nullptr.
const Value* sections_of(const Value& root) {
  const Value* sections = root.find(kSections);
  if (sections == nullptr || sections->kind == Value::Kind::kNull) return nullptr;
  if (sections->kind != Value::Kind::kMap) {
    throw UsageError(fmt::format("{}: 'sections' must be a map of names to keys", sections->place.text()));
  }
  for (const Entry& section : sections->entries) {
    if (section.value.kind == Value::Kind::kMap || section.value.kind == Value::Kind::kNull) continue;
    throw UsageError(
        fmt::format("{}: the section '{}' must be a map of keys", section.value.place.text(), section.key));
  }
  return sections;
}

std::vector<std::string> names_of(const Value* sections) {
  std::vector<std::string> names;
  if (sections == nullptr) return names;
  for (const Entry& entry : sections->entries) names.push_back(entry.key);
  return names;
}

// What `extends` of a map names, the first to be merged first.
std::vector<const Value*> extended_by(const Value& map) {
  const Value* extends = map.find(kExtends);
  std::vector<const Value*> names;
  if (extends == nullptr || extends->kind == Value::Kind::kNull) return names;
  if (extends->kind == Value::Kind::kScalar) names.push_back(extends);
  for (const Value& item : extends->items) names.push_back(&item);
  for (const Value* name : names) {
    if (name->kind != Value::Kind::kScalar) {
      throw UsageError(
          fmt::format("{}: 'extends' takes names of sections and files, not {}", name->place.text(), describe(*name)));
    }
  }
  if (extends->kind == Value::Kind::kMap) {
    throw UsageError(
        fmt::format("{}: 'extends' takes the name of a section or a file, or a list", extends->place.text()));
  }
  return names;
}

// FILE, FILE:SECTION, or a section without a file.
Source source_named(const Value& name) {
  if (is_source(name.text)) return parse_source(name.text);
  return {"", name.text};
}

// What a file or a section of it names lies beside it; one that is named without a folder may come with Lockstep.
Source found_from(const std::filesystem::path& file, const Value& name) {
  const Source source = source_named(name);
  std::vector<std::filesystem::path> places = {file.parent_path() / source.file};
  if (!source.file.has_parent_path()) places.push_back(shipped_configs() / source.file);
  std::string looked_for;
  for (const auto& place : places) {
    if (std::filesystem::exists(place)) return {place, source.section};
    looked_for += fmt::format("{}'{}'", looked_for.empty() ? "" : ", nor ", place.string());
  }
  throw UsageError({.message = fmt::format("{}: there is no file {}", name.place.text(), looked_for),
                    .expected = "a config beside this one, its path from there, or one that comes with Lockstep"});
}

std::vector<Source> files_extended_by(const Value& root, const std::filesystem::path& file) {
  std::vector<Source> sources;
  for (const Value* name : extended_by(root)) {
    if (source_named(*name).file.empty()) {
      throw UsageError(
          {.message = fmt::format("{}: a file extends other files, not '{}'", name->place.text(), name->text),
           .next = "put it into a section, or name a file that ends in .yaml"});
    }
    sources.push_back(found_from(file, *name));
  }
  return sources;
}

// What files hold, each read once.
class Files {
 public:
  const Value& map_of(const std::filesystem::path& file) {
    const auto [known, is_new] = maps_.try_emplace(file.lexically_normal());
    if (is_new) {
      known->second = read_map(file);
      sections_of(known->second);  // as they must be, also where none of them is asked for
    }
    return known->second;
  }

  // All sections that a file has, with the file that each stands in: its own, and those of the files that it extends,
  // which lead to no circle.
  const std::vector<Source>& sections_within(const std::filesystem::path& file) {
    const auto known = sections_.find(file.lexically_normal());
    if (known != sections_.end()) return known->second;
    std::vector<Source> all;
    for (const std::string& name : names_of(sections_of(map_of(file)))) all.push_back({file, name});
    for (const Source& section : sections_extended_by(file)) add(all, section);
    return sections_[file.lexically_normal()] = std::move(all);
  }

  // Those of the files that it extends alone.
  std::vector<Source> sections_extended_by(const std::filesystem::path& file) {
    std::vector<Source> all;
    auto extended = files_extended_by(map_of(file), file);
    std::reverse(extended.begin(), extended.end());  // later ones win
    for (const Source& source : extended) {
      for (const Source& section : sections_within(source.file)) add(all, section);
    }
    return all;
  }

 private:
  static void add(std::vector<Source>& all, const Source& source) {
    if (std::none_of(all.begin(), all.end(), [&](const Source& other) { return other.section == source.section; })) {
      all.push_back(source);
    }
  }

  std::map<std::filesystem::path, Value> maps_;
  std::map<std::filesystem::path, std::vector<Source>> sections_;
};

// Which of `sections` has that name; `where` says where they are.
Source find_section(const std::vector<Source>& sections, const std::string& name, const std::string& where,
                    const Place& asked_at) {
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const Source& one) { return one.section == name; });
  if (found != sections.end()) return *found;
  std::vector<std::string> names;
  for (const Source& one : sections) names.push_back(one.section);
  throw UsageError({.message = fmt::format("{}there is no section '{}' in {}{}",
                                           asked_at.source.empty() ? "" : asked_at.text() + ": ", name, where,
                                           did_you_mean(name, names)),
                    .expected = names.empty() ? "" : "one of " + format_some(names, 20)});
}

// A map without what only composing reads.
Value own_keys(const Value& map) {
  Value own{.kind = Value::Kind::kMap, .place = map.place};
  for (const Entry& entry : map.entries) {
    if (entry.key != kExtends && entry.key != kSections) own.entries.push_back(entry);
  }
  return own;
}

// The same of a section.
Value keys_of_section(const Value& section) {
  if (const Value* inner = section.find(kSections)) {
    throw UsageError(fmt::format("{}: a section has no sections of its own", inner->place.text()));
  }
  return own_keys(section);
}

// Loads a file or section and, before it, what it extends. Knows the way to it, so that circles are found.
class Composer {
 public:
  Value load(const Source& source, const Place& asked_at) {
    const Step step(*this, source, asked_at);
    const Value& root = files_.map_of(source.file);
    Value result{.kind = Value::Kind::kMap, .place = root.place};
    const auto names = extended_by(root);
    const auto sources = files_extended_by(root, source.file);
    for (std::size_t i = 0; i < sources.size(); ++i) merge(result, load(sources[i], names[i]->place));
    merge(result, own_keys(root));
    if (!source.section.empty()) {
      add_section(result,
                  find_section(files_.sections_within(source.file), source.section, source.file.string(), asked_at));
    }
    return result;
  }

 private:
  // On the way as long as it lives.
  class Step {
   public:
    Step(Composer& composer, const Source& source, const Place& asked_at) : composer_(composer) {
      const std::string name = source.file.lexically_normal().string() + ":" + source.section;
      if (std::find(composer.way_.begin(), composer.way_.end(), name) != composer.way_.end()) {
        throw UsageError(fmt::format("{}: 'extends' leads back to where it began", asked_at.text()));
      }
      if (composer.way_.size() >= kMostExtended) {
        throw UsageError(
            fmt::format("{}: 'extends' goes on through more than {} configs", asked_at.text(), kMostExtended));
      }
      if (++composer.loaded_ > kMostLoaded) {
        throw UsageError(fmt::format("{}: 'extends' names more than {} configs in all", asked_at.text(), kMostLoaded));
      }
      composer.way_.push_back(name);
    }
    ~Step() { composer_.way_.pop_back(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Composer& composer_;
  };

  // `source` is a section with the file that it stands in.
  void add_section(Value& result, const Source& source) {
    const Value& section = *sections_of(files_.map_of(source.file))->find(source.section);
    for (const Value* name : extended_by(section)) {
      if (source_named(*name).file.empty()) {
        const Source sibling = sibling_of(source, *name);
        const Step step(*this, sibling, name->place);
        add_section(result, sibling);
      } else {
        merge(result, load(found_from(source.file, *name), name->place));
      }
    }
    merge(result, keys_of_section(section));
  }

  // What a section means by another's name; by its own it means what its file got under that name.
  Source sibling_of(const Source& section, const Value& name) {
    if (name.text != section.section) {
      return find_section(files_.sections_within(section.file), name.text, section.file.string(), name.place);
    }
    return find_section(files_.sections_extended_by(section.file), name.text,
                        "the files that " + section.file.string() + " extends", name.place);
  }

  Files files_;
  std::vector<std::string> way_;
  std::size_t loaded_ = 0;
};

}  // namespace

bool is_source(const std::string& text) {
  const auto colon = text.rfind(':');
  return names_file(text) ||
         (colon != std::string::npos && colon + 1 < text.size() && names_file(text.substr(0, colon)));
}

Source parse_source(const std::string& text) {
  if (names_file(text)) return {text, ""};
  if (const auto colon = text.rfind(':'); is_source(text)) return {text.substr(0, colon), text.substr(colon + 1)};
  throw UsageError({.message = fmt::format("'{}' is no config", text),
                    .expected = "a file that ends in .yaml, perhaps with a section of it: FILE.yaml:SECTION"});
}

std::filesystem::path shipped_configs() {
  return files::installation_folder() / "share/lockstep/configs";
}

Value load(const Source& source) {
  return Composer().load(source, {});
}

std::vector<std::string> section_names(const std::filesystem::path& file) {
  load({file, ""});  // which finds circles
  Files files;
  std::vector<std::string> names;
  for (const Source& source : files.sections_within(file)) names.push_back(source.section);
  return names;
}

std::vector<Value> maps_written_in(const std::filesystem::path& file) {
  const Value root = read_map(file);
  std::vector<Value> maps = {own_keys(root)};
  const Value* sections = sections_of(root);
  if (sections == nullptr) return maps;
  for (const Entry& section : sections->entries) {
    if (section.value.kind == Value::Kind::kNull) continue;
    extended_by(section.value);  // as it must be, also where nobody follows it
    maps.push_back(keys_of_section(section.value));
  }
  return maps;
}

void merge(Value& base, const Value& over) {
  for (const Entry& entry : over.entries) {
    Value* mine = base.find(entry.key);
    if (mine == nullptr) {
      base.entries.push_back(entry);
    } else if (mine->kind == Value::Kind::kMap && entry.value.kind == Value::Kind::kMap) {
      merge(*mine, entry.value);
    } else {
      *mine = entry.value;
    }
  }
}

void put(Value& root, const std::string& path, Value value) {
  const auto keys = split(path, '.');
  if (std::any_of(keys.begin(), keys.end(), [](const auto& key) { return key.empty(); })) {
    throw UsageError({.message = fmt::format("{}: '{}' is no key", value.place.text(), path),
                      .expected = "names with dots between them, such as optimizer.lr"});
  }
  const Place place = value.place;
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    Value map{.kind = Value::Kind::kMap, .place = place};
    map.entries.push_back({*key, place, std::move(value)});
    value = std::move(map);
  }
  merge(root, value);
}

void set(Value& root, const std::string& assignment, const std::string& source) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos) {
    throw UsageError({.message = fmt::format("{} is not understood", source),
                      .found = assignment,
                      .expected = "KEY=VALUE, such as optimizer.lr=0.1"});
  }
  const std::string path = assignment.substr(0, equals);
  const Place place{source + " " + path};
  if (assignment.find_first_not_of(' ', equals + 1) == std::string::npos) {
    throw UsageError({.message = fmt::format("{}: there is no value behind '='", place.text()),
                      .expected = fmt::format("{}=VALUE, or {}=null to take back what the config says", path, path)});
  }
  Value value = parse_yaml(assignment.substr(equals + 1), place.source);
  value.place = place;
  put(root, path, std::move(value));
}

}  // namespace lockstep::config
