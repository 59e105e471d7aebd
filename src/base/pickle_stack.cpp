// The stack, the memory and the bytes of the machine.
#include <lockstep/base/damaged_file.h>

#include "pickle_machine.h"

namespace lockstep {

UsageError PickleMachine::refuse(const std::string& what, std::string found) const {
  return damaged_file(pickle_.name_, fmt::format("{}, at byte {}", what, position_), std::move(found),
                      fmt::format("a pickle of {}", options_.holds));
}

std::string_view PickleMachine::take(std::size_t length) {
  if (length > content_.size() - position_) throw refuse("is truncated");
  const std::string_view taken = content_.substr(position_, length);
  position_ += length;
  return taken;
}

std::string_view PickleMachine::take_line() {
  constexpr std::size_t kLongestLine = 256;
  const std::size_t length = content_.substr(position_, kLongestLine).find('\n');
  if (length == std::string_view::npos) throw refuse("has a name without end");
  return take(length + 1).substr(0, length);
}

std::uint64_t PickleMachine::take_number(std::size_t bytes) {
  const std::string_view taken = take(bytes);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) number |= std::uint64_t{static_cast<std::uint8_t>(taken[i])} << (8 * i);
  return number;
}

void PickleMachine::push(Value value) {
  pickle_.values_.push_back(std::move(value));
  push_place(static_cast<Place>(pickle_.values_.size() - 1));
}

void PickleMachine::push_place(Place place) {
  stack_.push_back(place);
}

void PickleMachine::push_string(std::size_t length) {
  push({.kind = Kind::kString, .text = take(length)});
}

void PickleMachine::push_integer(std::int64_t value) {
  push({.kind = Kind::kInteger, .integer = value});
}

// Two's complement of any length.
void PickleMachine::push_long(std::size_t length) {
  const std::string_view bytes = take(length);
  const bool negative = length > 0 && static_cast<std::uint8_t>(bytes.back()) >= 0x80;
  std::uint64_t integer = negative ? ~std::uint64_t{0} : 0;
  double number = negative ? -1 : 0;
  for (std::size_t i = length; i-- > 0;) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    integer = integer << 8 | byte;
    number = number * 256 + byte;
  }
  if (length <= sizeof(integer)) return push_integer(static_cast<std::int64_t>(integer));
  push({.kind = Kind::kNumber, .number = number});
}

void PickleMachine::push_tuple(std::vector<Place> elements) {
  push({.kind = Kind::kTuple, .elements = std::move(elements)});
}

Pickle::Place PickleMachine::pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) throw refuse("takes from an empty stack");
  const Place place = stack_.back();
  stack_.pop_back();
  return place;
}

std::vector<Pickle::Place> PickleMachine::pop_to_mark() {
  if (marks_.empty()) throw refuse("has no mark on its stack");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Place> taken(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return taken;
}

void PickleMachine::extend(Kind kind, const std::vector<Place>& elements) {
  const bool in_pairs = kind != Kind::kDictionary || elements.size() % 2 == 0;
  if (stack_.empty() || at(stack_.back()).kind != kind || !in_pairs) throw refuse("adds to what takes nothing");
  std::vector<Place>& target = pickle_.values_[stack_.back()].elements;
  target.insert(target.end(), elements.begin(), elements.end());
}

void PickleMachine::remember(std::uint64_t key) {
  if (stack_.empty()) throw refuse("takes from an empty stack");
  memory_[key] = stack_.back();
}

void PickleMachine::recall(std::uint64_t key) {
  const auto found = memory_.find(key);
  if (found == memory_.end()) throw refuse("recalls what it has not kept", std::to_string(key));
  push_place(found->second);
}

const Pickle::Value& PickleMachine::string_at(Place place) const {
  if (at(place).kind != Kind::kString) throw refuse("has another value where a string must be");
  return at(place);
}

// Python 3 writes bytes in protocol 2 as the text of the same code points, below 256 all of them.
void PickleMachine::latin1_from_utf8(std::string_view text) {
  // One string may be decoded again and again.
  decoded_bytes_ += text.size();
  if (decoded_bytes_ > content_.size()) throw refuse("has more bytes than it holds");
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte < 0x80) {
      bytes += text[i];
      continue;
    }
    const auto next = i + 1 < text.size() ? static_cast<std::uint8_t>(text[++i]) : std::uint8_t{0};
    if ((byte != 0xC2 && byte != 0xC3) || (next & 0xC0) != 0x80) throw refuse("has bytes that are not written as such");
    bytes += static_cast<char>((byte & 0x03) << 6 | (next & 0x3F));
  }
  push({.kind = Kind::kString, .text = pickle_.decoded_.emplace_back(std::move(bytes))});
}

}  // namespace lockstep
