#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/report/report.h>

#include "convert.h"
#include "draw.h"

namespace lockstep::report {

std::vector<std::filesystem::path> write_png(const Data& data, const std::filesystem::path& target) {
  const std::vector<Figure> figures = all_figures(data);
  if (figures.empty()) throw UsageError("there is nothing to draw: the runs have no metrics yet");
  std::vector<std::filesystem::path> written;
  const auto write = [&](const std::filesystem::path& file, const std::string& svg) {
    files::write_atomically(file, svg_to_png(svg));
    written.push_back(file);
  };
  if (target.extension() == ".png") {
    write(target, to_svg(figures, data));
    return written;
  }
  std::error_code error;
  std::filesystem::create_directories(target, error);
  if (error) throw system_error("cannot make the folder '" + target.string() + "'", error.value());
  for (const Figure& figure : figures) write(target / (figure.id + ".png"), to_svg(figure, data));
  return written;
}

}  // namespace lockstep::report
