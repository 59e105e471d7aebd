#include "pickle.h"

#include "damaged_file.h"
#include "pickle_machine.h"

namespace lockstep::data {

Pickle::Pickle(std::span<const std::byte> content, std::string name) : name_(std::move(name)) {
  root_ = PickleMachine(*this, content).run();
  if (values_[root_].kind != Kind::kDictionary) throw damaged_file(name_, "holds no dictionary");
}

UsageError Pickle::wrong_kind(std::string_view key, const char* expected) const {
  return damaged_file(name_, "has another kind of value than it should", fmt::format("under '{}'", key), expected);
}

const Pickle::Value& Pickle::find(std::string_view key, Kind kind, const char* kind_in_words) const {
  const std::vector<Place>& pairs = values_[root_].elements;
  // The last of several is the one that Python would keep.
  for (std::size_t i = pairs.size(); i >= 2; i -= 2) {
    const Value& name = values_[pairs[i - 2]];
    if (name.kind != Kind::kString || name.text != key) continue;
    const Value& value = values_[pairs[i - 1]];
    if (value.kind != kind) throw wrong_kind(key, kind_in_words);
    return value;
  }
  throw damaged_file(name_, fmt::format("has nothing under '{}'", key));
}

std::vector<std::int64_t> Pickle::integers(std::string_view key) const {
  constexpr const char* kExpected = "a list of integers";
  std::vector<std::int64_t> result;
  for (const Place place : find(key, Kind::kList, kExpected).elements) {
    if (values_[place].kind != Kind::kInteger) throw wrong_kind(key, kExpected);
    result.push_back(values_[place].integer);
  }
  return result;
}

std::vector<std::string> Pickle::strings(std::string_view key) const {
  constexpr const char* kExpected = "a list of strings of at most 1 KiB each";
  constexpr std::size_t kLongest = 1024;
  std::vector<std::string> result;
  for (const Place place : find(key, Kind::kList, kExpected).elements) {
    const Value& value = values_[place];
    if (value.kind != Kind::kString || value.text.size() > kLongest) throw wrong_kind(key, kExpected);
    result.emplace_back(value.text);
  }
  return result;
}

Pickle::Array Pickle::array(std::string_view key) const {
  constexpr const char* kExpected = "an array of unsigned bytes";
  const Value& value = find(key, Kind::kArray, kExpected);
  Array array{.sizes = {}, .bytes = std::as_bytes(std::span(value.text))};
  std::uint64_t total = 1;
  for (const Place place : value.elements) {
    const std::int64_t size = values_[place].integer;
    if (values_[place].kind != Kind::kInteger || size < 1 || static_cast<std::uint64_t>(size) > array.bytes.size()) {
      throw wrong_kind(key, kExpected);
    }
    // Neither factor is beyond the number of bytes in the file, so the product fits.
    total *= static_cast<std::uint64_t>(size);
    if (total > array.bytes.size()) break;
    array.sizes.push_back(size);
  }
  if (value.elements.empty() || total != array.bytes.size()) {
    throw damaged_file(name_, fmt::format("has an array under '{}' of another size than its content", key));
  }
  return array;
}

}  // namespace lockstep::data
