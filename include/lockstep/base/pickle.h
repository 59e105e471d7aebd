// Reads a pickle of Python without doing what it says. A pickle is a program for a small machine that may call
// anything; this machine knows only the instructions by which values come into being, and calls nothing: a call of a
// function that its reader has allowed becomes a value that says so, and every other name is refused.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

struct PickleOptions {
  std::span<const std::string_view> names;  // "module.name", what may be named and called; must outlive the pickle
  bool persistent_ids = false;              // whether values may stand for what lies outside of the pickle
  std::size_t most_steps = std::size_t{1} << 20;
  std::string_view holds = "lists, strings and numbers";  // for errors: what such a pickle is of
};

class Pickle {
 public:
  using Place = std::uint32_t;  // of a value among all of them

  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInteger,
    kNumber,
    kString,
    kTuple,
    kList,
    kDictionary,    // also an OrderedDict
    kName,          // one of the allowed, not called
    kCall,          // of one of the allowed
    kPersistentId,  // stands for what lies outside
  };

  // Values name each other by their places, so a pickle that holds itself is no danger, and nothing is recursive.
  struct Value {
    Kind kind = Kind::kNone;
    std::int64_t integer = 0;  // of kBool, kInteger
    double number = 0;         // of kNumber, and of an integer beyond 64 bits, which is one
    std::string_view text;     // of kString, kName; of kCall the function's name
    // Of kTuple, kList; of kDictionary keys and values in turn; of kCall a tuple of arguments and, where the object was
    // given one, its state; of kPersistentId the identity.
    std::vector<Place> elements;
  };

  // Reads a pickle of protocol 2 to 5, by Python 2 or 3. `content` must live as long as this. Throws UsageError that
  // names the file, the place in it, and the instruction or the name that is refused. It takes at most 200 bytes of
  // memory for each step, and once more the content's size, whatever the content says.
  Pickle(std::span<const std::byte> content, std::string name, const PickleOptions& options);

  const std::string& name() const { return name_; }
  Place root() const { return root_; }
  const Value& at(Place place) const { return values_[place]; }
  std::span<const Value> values() const { return values_; }

  // What a dictionary has under a string: of several the last, as in Python; null when there is nothing.
  const Value* find(const Value& dictionary, std::string_view key) const;

 private:
  friend class PickleMachine;

  std::string name_;
  std::vector<Value> values_;
  std::deque<std::string> decoded_;  // strings that do not lie in the content as they are
  Place root_ = 0;
};

}  // namespace lockstep
