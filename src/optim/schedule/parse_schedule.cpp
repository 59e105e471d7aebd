#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/make_schedule.h>

#include "schedule_table.h"

namespace lockstep::optim {
namespace {

// Reads the text from left to right; each function takes what its name says.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schedule schedule() {
    Schedule sum = product();
    while (take('+')) sum = sum + product();
    if (at_ < text_.size()) refuse("the end, + or *");
    return sum;
  }

 private:
  Schedule product() {
    Schedule product = named();
    while (take('*')) product = product * named();
    return product;
  }

  Schedule named() {
    const std::string_view name = word();
    if (name.empty()) refuse("the name of a schedule, such as cosine");
    const ScheduleKind& kind = find_schedule(name);
    Parameters parameters;
    if (take('(') && !take(')')) {
      std::size_t position = 0;
      do parameter(name, kind, position, parameters);
      while (take(','));
      if (!take(')')) refuse(") or a comma");
    }
    return make_schedule(name, parameters);
  }

  // VALUE or KEY=VALUE. `position` counts the values without a key.
  void parameter(std::string_view name, const ScheduleKind& kind, std::size_t& position, Parameters& parameters) {
    const std::size_t start = at_;
    std::string key(word());
    if (key.empty() || !take('=')) {
      at_ = start;
      key = kind.takes_list ? kind.order.front() : position < kind.order.size() ? kind.order[position] : "";
      if (key.empty()) refuse(fmt::format("at most {} values for {}", kind.order.size(), name));
      ++position;
    }
    Parameter found = value();
    auto* list = kind.takes_list && key == kind.order.front() && parameters.contains(key)
                     ? std::get_if<std::vector<double>>(&parameters.at(key))
                     : nullptr;
    if (list != nullptr && std::holds_alternative<std::vector<double>>(found)) {
      list->push_back(std::get<std::vector<double>>(found).front());
    } else if (!parameters.emplace(key, std::move(found)).second) {
      refuse(fmt::format("'{}' only once", key));
    }
  }

  Parameter value() {
    skip_spaces();
    double number = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error == std::errc{}) {
      at_ = static_cast<std::size_t>(end - text_.data());
      return std::vector{number};
    }
    const std::string_view text = word();
    if (text.empty()) refuse("a number");
    return std::string(text);
  }

  std::string_view word() {
    skip_spaces();
    const std::size_t start = at_;
    const auto is_letter = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    };
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  bool take(char wanted) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  [[noreturn]] void refuse(const std::string& expected) const {
    const std::string_view rest = text_.substr(at_);
    throw UsageError({.message = fmt::format("the schedule '{}' cannot be read", text_),
                      .found = rest.empty() ? "its end" : fmt::format("'{}'", rest),
                      .expected = expected});
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Schedule parse_schedule(std::string_view text) {
  return Parser(text).schedule();
}

}  // namespace lockstep::optim
