// Named values from a config or a command line, and a reader that refuses what nobody asks for.
#pragma once
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace lockstep {

// One number is a list of one.
using Parameter = std::variant<std::vector<double>, std::string>;
using Parameters = std::map<std::string, Parameter>;

// Reads the parameters of one thing, such as "the transform resize". `parameters` outlives it.
class ParameterReader {
 public:
  ParameterReader(std::string owner, const Parameters& parameters)
      : owner_(std::move(owner)), parameters_(parameters) {}

  // Each asks for a parameter that the owner has; empty when it is not given. They throw UsageError for a value of
  // another kind or with another number of numbers; no counts: any number of them, but at least one.
  std::optional<std::vector<double>> numbers(const std::string& name, std::initializer_list<std::size_t> counts = {});
  std::optional<double> number(const std::string& name);
  std::optional<int> integer(const std::string& name);
  std::optional<std::string> text(const std::string& name, const std::vector<std::string>& choices);

  bool is_text(const std::string& name);

  // Throws UsageError when a parameter is given that nobody asked for. Comes last.
  void require_no_others() const;

  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

 protected:
  int to_integer(const std::string& name, double number) const;

 private:
  const Parameter* find(const std::string& name);

  std::string owner_;
  const Parameters& parameters_;
  std::set<std::string> known_;
};

}  // namespace lockstep
