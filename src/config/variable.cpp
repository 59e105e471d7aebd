#include "variable.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::config {
namespace {

// The value of one key, and what to say when it does not fit.
struct Reading {
  const Value& value;
  const std::string& path;
  const KeyOptions& options;
  const std::string expected;

  [[nodiscard]] UsageError wrong() const { return wrong(value); }
  [[nodiscard]] UsageError wrong(const Value& part) const {
    return UsageError({.message = fmt::format("{}: '{}' does not fit", part.place.text(), path),
                       .found = describe(part),
                       .expected = expected});
  }
};

bool is_unquoted(const Value& value) {
  return value.kind == Value::Kind::kScalar && !value.quoted;
}

void require_bounds(double number, const Reading& reading, const Value& part) {
  const KeyOptions& options = reading.options;
  const bool fits = (!options.least || number >= *options.least) && (!options.above || number > *options.above) &&
                    (!options.most || number <= *options.most) && (!options.below || number < *options.below);
  if (!fits) throw reading.wrong(part);
}

// All of the text, perhaps with a plus sign.
template <typename Number>
bool read_number(std::string_view text, Number& number) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && stop == text.data() + text.size();
}

template <typename Number>
Number parse_number(const Value& value, const Reading& reading) {
  Number number{};
  if (!is_unquoted(value) || !read_number(value.text, number) || !std::isfinite(static_cast<double>(number))) {
    throw reading.wrong(value);
  }
  require_bounds(static_cast<double>(number), reading, value);
  return number;
}

const std::string& parse_text(const Value& value, const Reading& reading) {
  if (value.kind != Value::Kind::kScalar) throw reading.wrong(value);
  const auto& choices = reading.options.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), value.text) == choices.end()) {
    throw UsageError({.message = fmt::format("{}: '{}' cannot be '{}'{}", value.place.text(), reading.path, value.text,
                                             did_you_mean(value.text, choices)),
                      .expected = reading.expected});
  }
  return value.text;
}

void read(bool& target, const Reading& reading) {
  static const std::vector<std::string> yes = {"true", "True", "TRUE", "yes", "on"};
  static const std::vector<std::string> no = {"false", "False", "FALSE", "no", "off"};
  const auto among = [&](const auto& words) {
    return is_unquoted(reading.value) && std::find(words.begin(), words.end(), reading.value.text) != words.end();
  };
  if (!among(yes) && !among(no)) throw reading.wrong();
  target = among(yes);
}

void read(int& target, const Reading& reading) {
  target = parse_number<int>(reading.value, reading);
}

void read(std::int64_t& target, const Reading& reading) {
  target = parse_number<std::int64_t>(reading.value, reading);
}

void read(double& target, const Reading& reading) {
  target = parse_number<double>(reading.value, reading);
}

void read(std::string& target, const Reading& reading) {
  target = parse_text(reading.value, reading);
}

template <typename T>
void read(std::optional<T>& target, const Reading& reading) {
  T value{};
  read(value, reading);
  target = value;
}

// A list, or the one thing that is its only item.
std::vector<const Value*> items_of(const Value& value) {
  std::vector<const Value*> items;
  if (value.kind != Value::Kind::kList) return {&value};
  for (const Value& item : value.items) items.push_back(&item);
  return items;
}

template <typename Number>
void read(std::vector<Number>& target, const Reading& reading) {
  target.clear();
  for (const Value* item : items_of(reading.value)) target.push_back(parse_number<Number>(*item, reading));
}

void read(std::vector<std::string>& target, const Reading& reading) {
  target.clear();
  for (const Value* item : items_of(reading.value)) target.push_back(parse_text(*item, reading));
}

bool is_number(const Value& value) {
  double number{};
  return is_unquoted(value) && read_number(value.text, number);
}

Parameter parse_parameter(const Value& value, const Reading& reading) {
  if (value.kind == Value::Kind::kScalar && !is_number(value)) return value.text;
  std::vector<double> numbers;
  for (const Value* item : items_of(value)) numbers.push_back(parse_number<double>(*item, reading));
  return numbers;
}

Named parse_named(const Value& value, const Reading& reading) {
  if (value.kind == Value::Kind::kScalar) return {.name = value.text, .place = value.place};
  if (value.kind != Value::Kind::kMap || value.entries.size() != 1) throw reading.wrong(value);
  const Entry& only = value.entries.front();
  Named named{.name = only.key, .place = only.place};
  if (only.value.kind == Value::Kind::kNull) return named;
  if (only.value.kind != Value::Kind::kMap) throw reading.wrong(only.value);
  for (const Entry& entry : only.value.entries) named.parameters[entry.key] = parse_parameter(entry.value, reading);
  return named;
}

void read(std::vector<Named>& target, const Reading& reading) {
  target.clear();
  for (const Value* item : items_of(reading.value)) target.push_back(parse_named(*item, reading));
}

Value scalar(const std::string& text, bool quoted = false) {
  return {.kind = Value::Kind::kScalar, .text = text, .quoted = quoted};
}

// A text that reads back as a number or a word of YAML's own needs quotes.
Value text_value(const std::string& text) {
  static const std::vector<std::string> words = {"true", "false", "yes", "no", "on", "off", "~"};
  const Value plain = scalar(text);
  return scalar(text, is_number(plain) || std::find(words.begin(), words.end(), text) != words.end());
}

Value to_value(bool value) {
  return scalar(value ? "true" : "false");
}
Value to_value(std::int64_t value) {
  return scalar(std::to_string(value));
}
Value to_value(int value) {
  return scalar(std::to_string(value));
}
Value to_value(double value) {
  return scalar(fmt::format("{}", value));
}
Value to_value(const std::string& value) {
  return text_value(value);
}

template <typename T>
Value to_value(const std::vector<T>& values);

Value to_value(const Named& named) {
  if (named.parameters.empty()) return text_value(named.name);
  Value parameters{.kind = Value::Kind::kMap};
  for (const auto& [name, parameter] : named.parameters) {
    const auto* numbers = std::get_if<std::vector<double>>(&parameter);
    Value value = numbers == nullptr     ? text_value(std::get<std::string>(parameter))
                  : numbers->size() == 1 ? to_value(numbers->front())
                                         : to_value(*numbers);
    parameters.entries.push_back({name, {}, std::move(value)});
  }
  Value map{.kind = Value::Kind::kMap};
  map.entries.push_back({named.name, {}, std::move(parameters)});
  return map;
}

template <typename T>
Value to_value(const std::vector<T>& values) {
  Value list{.kind = Value::Kind::kList};
  for (const T& value : values) list.items.push_back(to_value(value));
  return list;
}

template <typename T>
Value to_value(const std::optional<T>& value) {
  return value ? to_value(*value) : Value{};
}

std::string with_bounds(const std::string& noun, const KeyOptions& options) {
  std::string text = noun;
  if (options.above) text += fmt::format(" above {}", *options.above);
  if (options.least) text += fmt::format(" of at least {}", *options.least);
  if (options.most)
    text += fmt::format("{} at most {}", options.least || options.above ? " and" : " of", *options.most);
  if (options.below) text += fmt::format("{} below {}", options.least || options.above ? " and" : "", *options.below);
  return text;
}

struct TypeName {
  const KeyOptions& options;

  std::string operator()(const bool* /*unused*/) const { return "true or false"; }
  std::string operator()(const int* /*unused*/) const { return with_bounds("a whole number", options); }
  std::string operator()(const std::int64_t* /*unused*/) const { return with_bounds("a whole number", options); }
  std::string operator()(const double* /*unused*/) const { return with_bounds("a number", options); }
  std::string operator()(const std::string* /*unused*/) const {
    return options.choices.empty() ? "a text" : fmt::format("one of {}", fmt::join(options.choices, ", "));
  }
  template <typename T>
  std::string operator()(const std::optional<T>* /*unused*/) const {
    return (*this)(static_cast<const T*>(nullptr)) + ", or null";
  }
  template <typename T>
  std::string operator()(const std::vector<T>* /*unused*/) const {
    return "a list, each " + (*this)(static_cast<const T*>(nullptr));
  }
  std::string operator()(const std::vector<Named>* /*unused*/) const {
    return "a list of names, each perhaps with parameters: NAME, or NAME: {PARAMETER: VALUE}";
  }
};

}  // namespace

void read_into(const Schema::Variable& variable, const Value& value, const std::string& path,
               const KeyOptions& options) {
  const Reading reading{value, path, options, describe_type(variable, options)};
  std::visit([&](auto* target) { read(*target, reading); }, variable);
}

std::string show(const Schema::Variable& variable) {
  return std::visit([](const auto* target) { return to_flow(to_value(*target)); }, variable);
}

std::string describe_type(const Schema::Variable& variable, const KeyOptions& options) {
  return std::visit(TypeName{options}, variable);
}

}  // namespace lockstep::config
