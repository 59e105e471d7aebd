// Reads the dictionary in a pickle of Python without doing what it says. A pickle is a program for a small machine that
// may call anything; this machine knows only the instructions by which lists, strings, numbers and arrays of bytes come
// into being, takes the handful of names that numpy's arrays need as marks, and refuses all else.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/base/errors.h>

namespace lockstep::data {

class Pickle {
 public:
  // An array of unsigned bytes.
  struct Array {
    std::vector<std::int64_t> sizes;
    std::span<const std::byte> bytes;
  };

  // Reads pickles of protocol 2 to 5, by Python 2 or 3, whose one object is a dictionary. `content` must live as long
  // as this. Throws UsageError that names the file, the place in it and the instruction that is refused. It takes
  // at most 200 MB of memory beside the content, and once more the content's size, whatever the content says.
  Pickle(std::span<const std::byte> content, std::string name);

  // What stands under a key. Throws UsageError when nothing does, or another kind of value.
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<std::string> strings(std::string_view key) const;
  Array array(std::string_view key) const;

 private:
  friend class PickleMachine;
  using Place = std::uint32_t;  // in values_

  enum class Kind : std::uint8_t { kNone, kBool, kInteger, kString, kTuple, kList, kDictionary, kName, kType, kArray };

  // Values name each other by their places, so a pickle that holds itself is no danger, and nothing is recursive.
  struct Value {
    Kind kind = Kind::kNone;
    std::int64_t integer = 0;     // of kBool, kInteger
    std::string_view text;        // of kString, kName, and an array's bytes
    std::vector<Place> elements;  // of kTuple, kList; a dictionary's keys and values in turn; an array's sizes
  };

  const Value& find(std::string_view key, Kind kind, const char* kind_in_words) const;
  UsageError wrong_kind(std::string_view key, const char* expected) const;

  std::string name_;
  std::vector<Value> values_;
  std::deque<std::string> decoded_;  // strings that do not lie in the content as they are
  Place root_ = 0;
};

}  // namespace lockstep::data
