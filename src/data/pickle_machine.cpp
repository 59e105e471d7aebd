// The instructions and their arguments are those of Python's pickletools.
#include "pickle_machine.h"

#include "damaged_file.h"

namespace lockstep::data {
namespace {

// CIFAR-100's training file takes a quarter of it.
constexpr std::size_t kMaxSteps = std::size_t{1} << 20;

// What numpy's arrays and Python 3's way to write bytes in protocol 2 name, under their older and newer modules.
constexpr std::string_view kReconstruct = "numpy.core.multiarray _reconstruct";
constexpr std::string_view kFromBuffer = "numpy.core.numeric _frombuffer";
constexpr std::string_view kNdarray = "numpy ndarray";
constexpr std::string_view kDtype = "numpy dtype";
constexpr std::string_view kEncode = "_codecs encode";

std::string_view known_name(const std::string& name) {
  if (name == "numpy._core.multiarray _reconstruct") return kReconstruct;
  if (name == "numpy._core.numeric _frombuffer") return kFromBuffer;
  for (const std::string_view known : {kReconstruct, kFromBuffer, kNdarray, kDtype, kEncode}) {
    if (name == known) return known;
  }
  return {};
}

}  // namespace

PickleMachine::PickleMachine(Pickle& pickle, std::span<const std::byte> content)
    : pickle_(pickle), content_(reinterpret_cast<const char*>(content.data()), content.size()) {}

Pickle::Place PickleMachine::run() {
  for (std::size_t steps = 0; step(); ++steps) {
    if (steps == kMaxSteps) throw refuse("is too long a program");
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
  const auto push_integer = [this](std::int64_t value) { push({.kind = Kind::kInteger, .integer = value}); };
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
    default:
      return false;
  }
}

void PickleMachine::push_name(std::string_view module, std::string_view name) {
  const std::string whole = fmt::format("{} {}", module.substr(0, 64), name.substr(0, 64));
  const std::string_view known = known_name(whole);
  if (known.empty()) throw refuse("names what it has no need of", whole);
  push({.kind = Kind::kName, .text = known});
}

// A few of them: they are copied, and a pickle might repeat itself.
bool PickleMachine::is_sizes(const Value& value) {
  constexpr std::size_t kMaxDimensions = 32;
  return value.kind == Kind::kTuple && value.elements.size() <= kMaxDimensions;
}

// What numpy's functions would return, for the arguments that arrays of unsigned bytes give them.
void PickleMachine::call() {
  const Value &arguments = at(pop()), &function = at(pop());
  const std::vector<Place>& given = arguments.elements;
  if (function.kind != Kind::kName || arguments.kind != Kind::kTuple) throw refuse("calls what is no function");
  if (function.text == kReconstruct && given.size() == 3) {
    push({.kind = Kind::kArray});
  } else if (function.text == kDtype && !given.empty()) {
    const std::string_view type = string_at(given[0]).text;
    if (type != "u1") throw refuse("has an array of another type than unsigned bytes", std::string(type.substr(0, 64)));
    push({.kind = Kind::kType});
  } else if (function.text == kEncode && given.size() == 2 && string_at(given[1]).text == "latin1") {
    latin1_from_utf8(string_at(given[0]).text);
  } else if (function.text == kFromBuffer && given.size() == 4 && at(given[1]).kind == Kind::kType &&
             is_sizes(at(given[2])) && string_at(given[3]).text == "C") {
    push({.kind = Kind::kArray, .text = string_at(given[0]).text, .elements = at(given[2]).elements});
  } else {
    throw refuse("calls a function in an unknown way", std::string(function.text));
  }
}

// The state of an array is (version, sizes, type, whether the first index runs fastest, bytes). That of its type adds
// nothing to what is known: unsigned bytes have no order.
void PickleMachine::build() {
  const Value& state = at(pop());
  if (stack_.empty()) throw refuse("takes from an empty stack");
  const Value& object = at(stack_.back());
  if (object.kind == Kind::kType && state.kind == Kind::kTuple) return;
  const std::vector<Place>& given = state.elements;
  const bool right = object.kind == Kind::kArray && state.kind == Kind::kTuple && given.size() == 5 &&
                     is_sizes(at(given[1])) && at(given[2]).kind == Kind::kType && at(given[3]).kind == Kind::kBool &&
                     at(given[3]).integer == 0;
  if (!right) throw refuse("gives an object a state that is unknown");
  Value array{.kind = Kind::kArray, .text = string_at(given[4]).text, .elements = at(given[1]).elements};
  pickle_.values_[stack_.back()] = std::move(array);
}

}  // namespace lockstep::data
