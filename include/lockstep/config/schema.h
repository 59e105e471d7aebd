// What a config may say: each key with its type, its default and a sentence, bound to the variable that it sets.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <lockstep/base/parameters.h>
#include <lockstep/config/value.h>

namespace lockstep::config {

// "random_crop: {size: 32, padding: 4}": a thing by its name, with parameters.
struct Named {
  std::string name;
  Parameters parameters = {};
  Place place = {};
};

struct KeyOptions {
  std::string meaning;                                                  // a sentence
  std::vector<std::string> choices = {};                                // of a text: one of these
  std::optional<double> least = {}, above = {}, most = {}, below = {};  // of numbers, also in a list
  bool shapes_training = true;                                          // false: a run may go on with another value
};

// What --list-keys tells of a key.
struct KeyInfo {
  std::string path;      // "optimizer.lr"
  std::string type;      // "a number above 0"
  std::string fallback;  // as YAML; "null" for none
  std::string meaning;
  bool shapes_training;
};

// The value of a key that is in force.
struct Setting {
  std::string path;
  std::string value;           // as YAML
  std::optional<Place> place;  // nothing: its default
  bool shapes_training;
};

class Schema {
 public:
  // An optional is empty by default, and by null in a config.
  using Variable =
      std::variant<bool*, int*, std::int64_t*, double*, std::string*, std::optional<bool>*,
                   std::optional<std::int64_t>*, std::optional<double>*, std::optional<std::string>*,
                   std::vector<std::int64_t>*, std::vector<double>*, std::vector<std::string>*, std::vector<Named>*>;

  // `path` has dots between sections. The variable has its default when this is called, and outlives the Schema.
  void add(const std::string& path, Variable variable, KeyOptions options);

  // Sets the variables of all keys that `root`, a map, has. Throws UsageError with the place of the value: for a key
  // that is not known, with the nearest, and for a value of another type or beyond its bounds.
  void read(const Value& root);

  std::vector<KeyInfo> keys() const;
  // In the order of add().
  std::vector<Setting> settings() const;
  // All settings as a config, section by section.
  std::string to_yaml() const;
  // The same, with a comment behind each that says where it came from; it reads back the same.
  std::string to_annotated_yaml() const;

 private:
  struct Key {
    std::string path;
    Variable variable;
    KeyOptions options;
    std::string fallback;
    std::optional<Place> place = {};
  };

  void read_map(const Value& map, const std::string& prefix);
  [[nodiscard]] bool is_section(const std::string& path) const;
  [[nodiscard]] std::string to_yaml(bool annotated) const;
  [[noreturn]] void refuse(const Entry& entry, const std::string& prefix) const;

  std::vector<Key> keys_;
};

}  // namespace lockstep::config
