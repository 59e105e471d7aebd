// Configs that build on one another.
//
// A file is a map of keys. Under `sections` it may hold named variants of them; a section has all keys of the file and
// changes some:
//
//   model: {name: resnet50}
//   sections:
//     bs128: {batch_size: 128}
//     bs256: {extends: bs128, batch_size: 256}
//
// `extends`, in a section or in a file, names what comes before its own keys: a section of the same file (in a
// section), another file (a.yaml), or a section of another file (a.yaml:bs128), which brings all keys of that file
// along and then its own; or a list of those, of which later ones win. A file has the sections of the files that it
// extends, too; of those with one name the last counts. A section that extends its own name means the one that its file
// got by extending others. Names mean what they mean in the file where they are written: a section of a.yaml that
// extends bs128 takes that of a.yaml, though the file that extends a.yaml has another. Files are looked for beside the
// file that names them and then, where they are named without a folder, among those that come with Lockstep. Maps are
// merged key by key, everything else is replaced; null takes a key back.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <lockstep/config/value.h>

namespace lockstep::config {

struct Source {
  std::filesystem::path file;
  std::string section;  // empty: none
};

// Whether parse_source() takes it.
bool is_source(const std::string& text);

// FILE or FILE:SECTION, where FILE ends in .yaml or .yml. Throws UsageError for another text.
Source parse_source(const std::string& text);

// The folder of the configs that come with Lockstep.
std::filesystem::path shipped_configs();

// The map of a file, or of a section of it, with all that it extends. Throws UsageError for files that are missing or
// malformed (as parse_yaml), for sections that do not exist, with the nearest, and for what extends itself, more than
// 16 others in a row or more than 256 in all.
Value load(const Source& source);

// The names of a file's sections, its own first. Throws as load does.
std::vector<std::string> section_names(const std::filesystem::path& file);

// What a file itself says, before anything is merged: the keys that it has, then those of each of its sections. None of
// them need be a whole config. Throws UsageError as load does, but for what files and sections extend.
std::vector<Value> maps_written_in(const std::filesystem::path& file);

// Puts the keys of `over` over those of `base`; both are maps.
void merge(Value& base, const Value& over);

// Puts a value in its place, "optimizer.lr", over what is there. `root` is a map. Throws UsageError for a path with an
// empty name in it.
void put(Value& root, const std::string& path, Value value);

// "optimizer.lr=0.1": puts a value, written as in YAML, in its place. `source` is where it came from, such as "--set".
// Throws UsageError for a text without '=', without a key or a value, and for a value that is no YAML.
void set(Value& root, const std::string& assignment, const std::string& source);

}  // namespace lockstep::config
