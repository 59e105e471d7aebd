// Options as text that is read back exactly.
#pragma once
#include <string>
#include <tuple>

namespace lockstep::optim {

std::string option_text(double value);
std::string option_text(bool value);
std::string option_text(const std::tuple<double, double>& values);

// Throw UsageError, with the option's name, for text that the other direction does not write.
void parse_option(const std::string& name, const std::string& text, double& value);
void parse_option(const std::string& name, const std::string& text, bool& value);
void parse_option(const std::string& name, const std::string& text, std::tuple<double, double>& values);

}  // namespace lockstep::optim
