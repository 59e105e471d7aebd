// The instructions and their arguments are those of Python's pickletools.
#include "pickle_machine.h"

#include <algorithm>
#include <bit>

#include <lockstep/base/damaged_file.h>

namespace lockstep {
namespace {

// Known to all readers: how Python 3 writes bytes in protocol 2, and a dictionary of another name.
constexpr std::string_view kEncode = "_codecs.encode";
constexpr std::string_view kOrderedDict = "collections.OrderedDict";

std::string_view known_name(const std::string& name, std::span<const std::string_view> allowed) {
  for (const std::string_view known : {kEncode, kOrderedDict}) {
    if (name == known) return known;
  }
  const auto found = std::find(allowed.begin(), allowed.end(), name);
  return found == allowed.end() ? std::string_view() : *found;
}

}  // namespace

Pickle::Pickle(std::span<const std::byte> content, std::string name, const PickleOptions& options)
    : name_(std::move(name)) {
  root_ = PickleMachine(*this, content, options).run();
}

const Pickle::Value* Pickle::find(const Value& dictionary, std::string_view key) const {
  const std::vector<Place>& pairs = dictionary.elements;
  for (std::size_t i = pairs.size(); i >= 2; i -= 2) {
    const Value& name = at(pairs[i - 2]);
    if (name.kind == Kind::kString && name.text == key) return &at(pairs[i - 1]);
  }
  return nullptr;
}

PickleMachine::PickleMachine(Pickle& pickle, std::span<const std::byte> content, const PickleOptions& options)
    : pickle_(pickle), options_(options), content_(reinterpret_cast<const char*>(content.data()), content.size()) {}

Pickle::Place PickleMachine::run() {
  for (std::size_t steps = 0; step(); ++steps) {
    if (steps == options_.most_steps) throw refuse("is too long a program");
  }
  if (stack_.size() != 1 || !marks_.empty()) throw refuse("does not end with one object");
  if (position_ != content_.size()) throw refuse("goes on after its end");
  return stack_.front();
}

bool PickleMachine::step() {
  constexpr std::uint8_t kStop = '.';
  const auto instruction = static_cast<std::uint8_t>(take(1)[0]);
  if (instruction == kStop) return false;
  const bool known = step_with_strings(instruction) || step_with_numbers(instruction) ||
                     step_with_memory(instruction) || step_with_containers(instruction) ||
                     step_with_objects(instruction);
  if (!known) {
    --position_;
    throw refuse("has an instruction that is not followed", fmt::format("0x{:02x}", instruction));
  }
  return true;
}

bool PickleMachine::step_with_strings(std::uint8_t instruction) {
  switch (instruction) {
    case 'U':   // SHORT_BINSTRING
    case 'C':   // SHORT_BINBYTES
    case 0x8c:  // SHORT_BINUNICODE
      push_string(take_number(1));
      return true;
    case 'T':  // BINSTRING
    case 'B':  // BINBYTES
    case 'X':  // BINUNICODE
      push_string(take_number(4));
      return true;
    case 0x8d:  // BINUNICODE8
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      push_string(take_number(8));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_with_numbers(std::uint8_t instruction) {
  switch (instruction) {
    case 'K':  // BININT1
      push_integer(static_cast<std::int64_t>(take_number(1)));
      return true;
    case 'M':  // BININT2
      push_integer(static_cast<std::int64_t>(take_number(2)));
      return true;
    case 'J':  // BININT
      push_integer(static_cast<std::int32_t>(take_number(4)));
      return true;
    case 0x8a:  // LONG1
      push_long(take_number(1));
      return true;
    case 'G': {  // BINFLOAT, the only number with its largest byte first
      std::uint64_t bits = 0;
      for (const char byte : take(8)) bits = bits << 8 | static_cast<std::uint8_t>(byte);
      push({.kind = Kind::kNumber, .number = std::bit_cast<double>(bits)});
      return true;
    }
    case 'N':  // NONE
      push({.kind = Kind::kNone});
      return true;
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      push({.kind = Kind::kBool, .integer = instruction == 0x88 ? 1 : 0});
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_with_memory(std::uint8_t instruction) {
  switch (instruction) {
    case 0x80:  // PROTO
      if (const std::uint64_t protocol = take_number(1); protocol < 2 || protocol > 5) {
        throw refuse("is of a protocol that is not read", std::to_string(protocol));
      }
      return true;
    case 0x95:  // FRAME; its length only helps those who read from a stream
      take_number(8);
      return true;
    case 'q':  // BINPUT
      remember(take_number(1));
      return true;
    case 'r':  // LONG_BINPUT
      remember(take_number(4));
      return true;
    case 0x94:  // MEMOIZE
      remember(memory_.size());
      return true;
    case 'h':  // BINGET
      recall(take_number(1));
      return true;
    case 'j':  // LONG_BINGET
      recall(take_number(4));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_with_containers(std::uint8_t instruction) {
  switch (instruction) {
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return true;
    case ')':  // EMPTY_TUPLE
      push_tuple({});
      return true;
    case 't':  // TUPLE
      push_tuple(pop_to_mark());
      return true;
    case 0x85:    // TUPLE1
    case 0x86:    // TUPLE2
    case 0x87: {  // TUPLE3
      std::vector<Place> elements(instruction - 0x84U);
      for (std::size_t i = elements.size(); i-- > 0;) elements[i] = pop();
      push_tuple(std::move(elements));
      return true;
    }
    case ']':  // EMPTY_LIST
      push({.kind = Kind::kList});
      return true;
    case '}':  // EMPTY_DICT
      push({.kind = Kind::kDictionary});
      return true;
    case 'a':  // APPEND
      extend(Kind::kList, {pop()});
      return true;
    case 'e':  // APPENDS
      extend(Kind::kList, pop_to_mark());
      return true;
    case 's': {  // SETITEM
      const Place value = pop(), key = pop();
      extend(Kind::kDictionary, {key, value});
      return true;
    }
    case 'u':  // SETITEMS
      extend(Kind::kDictionary, pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_with_objects(std::uint8_t instruction) {
  switch (instruction) {
    case 'c': {  // GLOBAL
      const std::string_view module = take_line();
      push_name(module, take_line());
      return true;
    }
    case 0x93: {  // STACK_GLOBAL
      const std::string_view name = string_at(pop()).text, module = string_at(pop()).text;
      push_name(module, name);
      return true;
    }
    case 'R':  // REDUCE
      call();
      return true;
    case 'b':  // BUILD
      build();
      return true;
    case 'Q':  // BINPERSID
      if (!options_.persistent_ids) return false;
      push({.kind = Kind::kPersistentId, .elements = {pop()}});
      return true;
    default:
      return false;
  }
}

void PickleMachine::push_name(std::string_view module, std::string_view name) {
  const std::string whole = fmt::format("{}.{}", module.substr(0, 64), name.substr(0, 64));
  const std::string_view known = known_name(whole, options_.names);
  if (known.empty()) {
    throw UsageError({.message = fmt::format("'{}' would run '{}', at byte {}", pickle_.name_, whole, position_),
                      .expected = fmt::format("a pickle of {}", options_.holds),
                      .next = "nothing was run; if you trust the file, save its data alone anew with Python"});
  }
  push({.kind = Kind::kName, .text = known});
}

// The arguments are not copied: a program may call one function with one tuple again and again.
void PickleMachine::call() {
  const Place arguments = pop();
  const Value &given = at(arguments), &function = at(pop());
  if (function.kind != Kind::kName || given.kind != Kind::kTuple) throw refuse("calls what is no function");
  const std::string_view name = function.text;
  const std::vector<Place>& elements = given.elements;
  if (name == kEncode) {
    if (elements.size() != 2 || string_at(elements[1]).text != "latin1") throw refuse("has bytes in an unknown code");
    latin1_from_utf8(string_at(elements[0]).text);
  } else if (name == kOrderedDict) {
    if (!elements.empty()) throw refuse("makes a dictionary in an unknown way");
    push({.kind = Kind::kDictionary});
  } else {
    push({.kind = Kind::kCall, .text = name, .elements = {arguments}});
  }
}

// A dictionary's state are the attributes of an OrderedDict, which hold nothing of it.
void PickleMachine::build() {
  const Place state = pop();
  if (stack_.empty()) throw refuse("takes from an empty stack");
  Value& object = pickle_.values_[stack_.back()];
  if (object.kind == Kind::kDictionary && at(state).kind == Kind::kDictionary) return;
  if (object.kind != Kind::kCall) throw refuse("gives a state to what has none");
  object.elements.resize(2);
  object.elements[1] = state;
}

}  // namespace lockstep
