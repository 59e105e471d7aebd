// What a config says, before anyone asks what it means: a tree of texts that knows where each was written.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::config {

// A line of a file, or a place that has no lines, such as "--set optimizer.lr".
struct Place {
  std::string source;
  int line = 0;  // from 1; 0 where there are none

  // "configs/cifar.yaml:14"
  std::string text() const { return line > 0 ? source + ":" + std::to_string(line) : source; }
};

struct Entry;

struct Value {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text = {};       // of a scalar
  bool quoted = false;         // a scalar that is text, whatever it looks like
  std::vector<Value> items;    // of a list
  std::vector<Entry> entries;  // of a map, in the order in which they were written; no key twice
  Place place = {};

  // Of a map; nullptr if there is none. UB for no map.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
};

struct Entry {
  std::string key;
  Place place;  // of the key
  Value value;
};

// "a number", "a list": what it is, for messages.
std::string describe(const Value& value);

// As YAML on one line, which reads back as the same value.
std::string to_flow(const Value& value);

// Reads one YAML document of maps, lists and scalars. Throws UsageError, with source and line, for what is malformed,
// for a key that is there twice, for tags, for a second document, and beyond the limits: 1 MiB, 32 levels, 20,000
// values, those that aliases repeat counted in.
Value parse_yaml(const std::string& text, const std::string& source);

}  // namespace lockstep::config
