#include "numpy_pickle.h"

#include <algorithm>
#include <array>
#include <optional>

#include <lockstep/base/damaged_file.h>

namespace lockstep::data {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

// What numpy's arrays name, under the modules of numpy 1 and of numpy 2.
constexpr std::string_view kDtype = "numpy.dtype";
constexpr std::array<std::string_view, 2> kReconstruct = {"numpy.core.multiarray._reconstruct",
                                                          "numpy._core.multiarray._reconstruct"};
constexpr std::array<std::string_view, 2> kFromBuffer = {"numpy.core.numeric._frombuffer",
                                                         "numpy._core.numeric._frombuffer"};
constexpr std::array<std::string_view, 6> kNames = {kReconstruct[0], kReconstruct[1], kFromBuffer[0],
                                                    kFromBuffer[1],  kDtype,          "numpy.ndarray"};

bool is_call(const Value& value, std::span<const std::string_view> names) {
  return value.kind == Kind::kCall && std::find(names.begin(), names.end(), value.text) != names.end();
}

// What makes an array, whichever way it was written.
struct Parts {
  const Value *type, *sizes, *bytes;
};

std::optional<Parts> parts_of(const Pickle& pickle, const Value& value) {
  const auto element = [&](const Value& tuple, std::size_t i) { return &pickle.at(tuple.elements[i]); };
  if (is_call(value, kFromBuffer)) {
    const Value& given = pickle.at(value.elements[0]);  // (bytes, type, sizes, order)
    if (given.elements.size() != 4 || element(given, 3)->text != "C") return std::nullopt;
    return Parts{.type = element(given, 1), .sizes = element(given, 2), .bytes = element(given, 0)};
  }
  if (!is_call(value, kReconstruct) || value.elements.size() != 2) return std::nullopt;
  const Value& state = pickle.at(value.elements[1]);
  // (version, sizes, type, whether the first index runs fastest, bytes)
  if (state.kind != Kind::kTuple || state.elements.size() != 5) return std::nullopt;
  const Value& fortran = *element(state, 3);
  if (fortran.kind != Kind::kBool || fortran.integer != 0) return std::nullopt;
  return Parts{.type = element(state, 2), .sizes = element(state, 1), .bytes = element(state, 4)};
}

// The state of a type adds nothing to what is known: unsigned bytes have no order.
bool is_bytes(const Pickle& pickle, const Value& type) {
  if (!is_call(type, {&kDtype, 1})) return false;
  const Value& given = pickle.at(type.elements[0]);
  return !given.elements.empty() && pickle.at(given.elements[0]).text == "u1";
}

}  // namespace

NumpyPickle::NumpyPickle(std::span<const std::byte> content, std::string name)
    : pickle_(content, std::move(name), {.names = kNames, .holds = "lists, strings and arrays of bytes"}) {
  if (pickle_.at(pickle_.root()).kind != Kind::kDictionary) throw damaged_file(pickle_.name(), "holds no dictionary");
}

UsageError NumpyPickle::wrong_kind(std::string_view key, const char* expected) const {
  return damaged_file(pickle_.name(), "has another kind of value than it should", fmt::format("under '{}'", key),
                      expected);
}

const Value& NumpyPickle::find(std::string_view key) const {
  if (const Value* value = pickle_.find(pickle_.at(pickle_.root()), key)) return *value;
  throw damaged_file(pickle_.name(), fmt::format("has nothing under '{}'", key));
}

const Value& NumpyPickle::find_list(std::string_view key, const char* kind_in_words) const {
  const Value& value = find(key);
  if (value.kind != Kind::kList) throw wrong_kind(key, kind_in_words);
  return value;
}

std::vector<std::int64_t> NumpyPickle::integers(std::string_view key) const {
  constexpr const char* kExpected = "a list of integers";
  std::vector<std::int64_t> result;
  for (const Pickle::Place place : find_list(key, kExpected).elements) {
    if (pickle_.at(place).kind != Kind::kInteger) throw wrong_kind(key, kExpected);
    result.push_back(pickle_.at(place).integer);
  }
  return result;
}

std::vector<std::string> NumpyPickle::strings(std::string_view key) const {
  constexpr const char* kExpected = "a list of strings of at most 1 KiB each";
  constexpr std::size_t kLongest = 1024;
  std::vector<std::string> result;
  for (const Pickle::Place place : find_list(key, kExpected).elements) {
    const Value& value = pickle_.at(place);
    if (value.kind != Kind::kString || value.text.size() > kLongest) throw wrong_kind(key, kExpected);
    result.emplace_back(value.text);
  }
  return result;
}

NumpyPickle::Array NumpyPickle::array(std::string_view key) const {
  constexpr const char* kExpected = "an array of unsigned bytes";
  const std::optional<Parts> parts = parts_of(pickle_, find(key));
  if (!parts || !is_bytes(pickle_, *parts->type) || parts->sizes->kind != Kind::kTuple ||
      parts->bytes->kind != Kind::kString) {
    throw wrong_kind(key, kExpected);
  }
  Array array{.sizes = {}, .bytes = std::as_bytes(std::span(parts->bytes->text))};
  std::uint64_t total = 1;
  for (const Pickle::Place place : parts->sizes->elements) {
    const std::int64_t size = pickle_.at(place).integer;
    if (pickle_.at(place).kind != Kind::kInteger || size < 1 || static_cast<std::uint64_t>(size) > array.bytes.size()) {
      throw wrong_kind(key, kExpected);
    }
    // Neither factor is beyond the number of bytes in the file, so the product fits.
    total *= static_cast<std::uint64_t>(size);
    if (total > array.bytes.size()) break;
    array.sizes.push_back(size);
  }
  if (parts->sizes->elements.empty() || total != array.bytes.size()) {
    throw damaged_file(pickle_.name(), fmt::format("has an array under '{}' of another size than its content", key));
  }
  return array;
}

}  // namespace lockstep::data
