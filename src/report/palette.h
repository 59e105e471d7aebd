// The colours of the page and of its plots, by name, in the light and in the dark.
#pragma once
#include <cstddef>
#include <string>

namespace lockstep::report {

enum class Scheme { kLight, kDark };

// "c0" to "c7": the class of what belongs to an input.
std::string colour_class(std::size_t input);

// "--ink:#1b1e23;--paper:#fff;...": the names as variables of CSS.
std::string colour_variables(Scheme scheme);

// The style of plots, in terms of those variables.
std::string plot_style();

// The same with the colours themselves in place of variables, for programs that know no variables.
std::string plot_style(Scheme scheme);

}  // namespace lockstep::report
