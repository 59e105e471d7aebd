#include "palette.h"

#include <array>

#include <fmt/format.h>

#include "embedded.h"

namespace lockstep::report {
namespace {

struct Colour {
  const char* name;
  const char* light;
  const char* dark;
};

// The colours of inputs are those of Okabe and Ito, which stay apart for people who see colours differently; darker on
// paper and brighter in the dark, where a line needs it.
constexpr std::array kColours = {
    Colour{"paper", "#ffffff", "#14171c"},   Colour{"raised", "#f6f7f9", "#1c2027"},
    Colour{"ink", "#1b1f24", "#e6e8eb"},     Colour{"quiet", "#626a74", "#9aa3ae"},
    Colour{"rule", "#dde1e6", "#333a44"},    Colour{"grid", "#eceef1", "#272d35"},
    Colour{"mark", "#fff3cd", "#463a12"},    Colour{"data", "#d99a00", "#e9b949"},
    Colour{"compute", "#3f7fb5", "#5b9bd5"}, Colour{"communication", "#c8553d", "#e07a5f"},
    Colour{"c0", "#0072b2", "#58b4f0"},      Colour{"c1", "#d55e00", "#ff8f4d"},
    Colour{"c2", "#008f68", "#3ccb9d"},      Colour{"c3", "#b8558f", "#ea9fc9"},
    Colour{"c4", "#b07d00", "#f0c04e"},      Colour{"c5", "#6a51a3", "#b39ddb"},
    Colour{"c6", "#2a9fc9", "#8fd6f7"},      Colour{"c7", "#5f6670", "#b4bac2"},
};
constexpr std::size_t kInputColours = 8;

}  // namespace

std::string colour_class(std::size_t input) {
  return fmt::format("c{}", input % kInputColours);
}

std::string colour_variables(Scheme scheme) {
  std::string text;
  for (const Colour& colour : kColours) {
    text += fmt::format("--{}:{};", colour.name, scheme == Scheme::kLight ? colour.light : colour.dark);
  }
  return text;
}

std::string plot_style() {
  std::string text(embedded::plot_css);
  for (const char* name : {"data", "compute", "communication", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"}) {
    text += fmt::format(".line.{0},.whisker.{0}{{stroke:var(--{0})}}.fill.{0}{{fill:var(--{0})}}\n", name);
  }
  return text;
}

std::string plot_style(Scheme scheme) {
  std::string text = plot_style();
  for (const Colour& colour : kColours) {
    const std::string variable = fmt::format("var(--{})", colour.name);
    for (auto at = text.find(variable); at != std::string::npos; at = text.find(variable, at)) {
      text.replace(at, variable.size(), scheme == Scheme::kLight ? colour.light : colour.dark);
    }
  }
  return text;
}

}  // namespace lockstep::report
