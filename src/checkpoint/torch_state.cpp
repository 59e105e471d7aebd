#include "torch_state.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "torch_names.h"

namespace lockstep::checkpoint {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

constexpr std::array<const char*, 4> kUsualKeys = {"state_dict", "model", "model_state_dict", "module"};
constexpr std::size_t kMostNames = 8;  // in a message
constexpr std::string_view kWrapper = "module.";

bool holds_tensors(const Pickle& pickle, const Value& value) {
  if (value.kind != Kind::kDictionary) return false;
  const auto& elements = value.elements;
  return std::any_of(elements.begin(), elements.end(),
                     [&](Pickle::Place place) { return is_tensor(pickle.at(place)); });
}

// Its keys, those of dictionaries of tensors first.
std::vector<std::string> keys_of(const Pickle& pickle, const Value& dictionary) {
  std::vector<std::string> with_tensors, others;
  for (std::size_t i = 0; i + 1 < dictionary.elements.size(); i += 2) {
    const Value& key = pickle.at(dictionary.elements[i]);
    if (key.kind != Kind::kString) continue;
    const bool good = holds_tensors(pickle, pickle.at(dictionary.elements[i + 1]));
    (good ? with_tensors : others).emplace_back(key.text);
  }
  with_tensors.insert(with_tensors.end(), others.begin(), others.end());
  return with_tensors;
}

UsageError no_state(const Pickle& pickle, const std::string& what, const Value& dictionary) {
  const std::vector<std::string> keys = keys_of(pickle, dictionary);
  return UsageError({.message = fmt::format("'{}' {}", pickle.name(), what),
                     .found = keys.empty() ? "no keys" : "the keys " + format_some(keys, kMostNames),
                     .expected = "a dictionary of tensors",
                     .next = "say under which key it is (--key; a/b for one within another)"});
}

const Value& follow(const Pickle& pickle, const std::string& key) {
  const Value* at = &pickle.at(pickle.root());
  for (const std::string& part : split(key, '/')) {
    const Value* next = at->kind == Kind::kDictionary ? pickle.find(*at, part) : nullptr;
    if (next == nullptr) {
      const auto keys = at->kind == Kind::kDictionary ? keys_of(pickle, *at) : std::vector<std::string>();
      throw no_state(pickle, fmt::format("has nothing under '{}'{}", part, did_you_mean(part, keys)), *at);
    }
    at = next;
  }
  if (!holds_tensors(pickle, *at)) throw no_state(pickle, fmt::format("has no tensors under '{}'", key), *at);
  return *at;
}

// The key of the dictionary where it usually is.
std::string usual_key(const Pickle& pickle) {
  const Value& root = pickle.at(pickle.root());
  std::vector<std::string> found;
  for (const char* key : kUsualKeys) {
    const Value* value = root.kind == Kind::kDictionary ? pickle.find(root, key) : nullptr;
    if (value != nullptr && holds_tensors(pickle, *value)) found.emplace_back(key);
  }
  if (found.size() > 1) throw no_state(pickle, "has more than one dictionary of tensors", root);
  if (found.empty() && !holds_tensors(pickle, root))
    throw no_state(pickle, "has no weights where they usually are", root);
  return found.empty() ? "" : found.front();
}

void unwrap(TorchDictionary& state) {
  state.unwrapped = std::all_of(state.tensors.begin(), state.tensors.end(), [](const TorchTensor& tensor) {
    return tensor.name.starts_with(kWrapper) && tensor.name.size() > kWrapper.size();
  });
  if (!state.unwrapped) return;
  for (TorchTensor& tensor : state.tensors) tensor.name.erase(0, kWrapper.size());
}

}  // namespace

TorchDictionary find_state(const Pickle& pickle, const std::string& key) {
  TorchDictionary state{.key = key.empty() ? usual_key(pickle) : key, .tensors = {}, .left_out = {}};
  const Value& dictionary = state.key.empty() ? pickle.at(pickle.root()) : follow(pickle, state.key);
  // A key that comes twice has its first place and its last value, as in Python.
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i + 1 < dictionary.elements.size(); i += 2) {
    const Value &name = pickle.at(dictionary.elements[i]), &value = pickle.at(dictionary.elements[i + 1]);
    const bool good = name.kind == Kind::kString && is_tensor(value);
    if (!good) {
      state.left_out.push_back(name.kind == Kind::kString ? std::string(name.text) : "a key that is no string");
      continue;
    }
    const auto [place, is_new] = places.emplace(name.text, state.tensors.size());
    if (is_new) state.tensors.emplace_back();
    state.tensors[place->second] = describe_tensor(pickle, value, std::string(name.text));
  }
  unwrap(state);
  return state;
}

Pickle read_torch_pickle(std::span<const std::byte> content, const std::string& file) {
  // A tensor takes about 40 steps.
  constexpr std::size_t kMostSteps = std::size_t{1} << 22;
  return {
      content, file, {.names = torch_names(), .persistent_ids = true, .most_steps = kMostSteps, .holds = "tensors"}};
}

}  // namespace lockstep::checkpoint
