#pragma once
#include <filesystem>
#include <string>

namespace lockstep::tensorboard {

struct FigureFile {
  std::string png;  // a file's content
  int width = 0, height = 0;
};

// A PNG file as it is, or what rsvg-convert makes of an SVG file, on white. Throws UsageError for another file, for a
// damaged or huge one, and when rsvg-convert is missing.
FigureFile read_figure(const std::filesystem::path& path);

}  // namespace lockstep::tensorboard
