// Reads the parameters of one transform, and refuses those that it has not.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/data/make_transform.h>

namespace lockstep::data {

class ParameterReader {
 public:
  ParameterReader(std::string_view transform, const TransformParameters& parameters)
      : transform_(transform), parameters_(parameters) {}

  // Each asks for a parameter that the transform has; empty when it is not given. They throw UsageError for a value of
  // another kind or with another number of numbers.
  std::optional<std::vector<double>> numbers(const std::string& name, std::initializer_list<std::size_t> counts);
  std::optional<double> number(const std::string& name);
  std::optional<int> integer(const std::string& name);
  std::optional<std::string> text(const std::string& name, const std::vector<std::string>& choices);

  bool is_text(const std::string& name);

  // Two numbers; or one, which stands for center - it and center + it, but not below `least`.
  std::optional<Range> range(const std::string& name, double center, double least);
  std::optional<Range> pair(const std::string& name);

  std::optional<ImageSize> size(const std::string& name);  // one number, or height and width
  ImageSize required_size(const std::string& name);
  Padding padding(const std::string& name);  // one number; left and top; or left, top, right and bottom
  Fill fill(const std::string& name);
  PadMode pad_mode(const std::string& name);
  Interpolation interpolation(const std::string& name);

  // Throws UsageError when a parameter is given that nobody asked for. Comes last.
  void require_no_others() const;

  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

 private:
  const TransformParameter* find(const std::string& name);
  int to_integer(const std::string& name, double number) const;

  std::string transform_;
  const TransformParameters& parameters_;
  std::set<std::string> known_;
};

}  // namespace lockstep::data
