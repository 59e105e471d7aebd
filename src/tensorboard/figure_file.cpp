#include "figure_file.h"

#include <span>
#include <string_view>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/in_short.h>
#include <lockstep/base/run_program.h>
#include <lockstep/data/decode.h>

namespace lockstep::tensorboard {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20;
constexpr data::DecodeLimits kLimits{.pixels = 50'000'000, .side = 16384};

UsageError refuse(const std::filesystem::path& path, const std::string& why) {
  return UsageError({.message = fmt::format("'{}' cannot be a figure", path.string()),
                     .found = why,
                     .expected = "a PNG or an SVG file of at most 50 million pixels"});
}

bool is_svg(std::string_view content) {
  return content.substr(0, 4096).find("<svg") != std::string_view::npos;
}

std::string rasterized(const std::filesystem::path& path) {
  const ProgramResult result = run_program(
      {"rsvg-convert", "--format=png", "--background-color=white", "--", std::filesystem::absolute(path).string()});
  if (!result.found) {
    throw UsageError(
        {.message = fmt::format("'{}' is an SVG file, and rsvg-convert, which draws those, is missing", path.string()),
         .next = "install it (Debian: librsvg2-bin), or give a PNG file"});
  }
  if (!result.complaint.empty()) throw refuse(path, "rsvg-convert cannot draw it: " + result.complaint);
  return result.output;
}

}  // namespace

FigureFile read_figure(const std::filesystem::path& path) {
  FigureFile figure{.png = files::read(path, kLargestFile)};
  if (is_svg(figure.png)) figure.png = rasterized(path);
  if (!figure.png.starts_with("\x89PNG")) throw refuse(path, "neither");
  try {
    data::Image pixels;
    data::decode(std::as_bytes(std::span(figure.png)), 3, pixels, kLimits);
    figure.width = pixels.width(), figure.height = pixels.height();
  } catch (const std::exception& error) {
    throw refuse(path, in_short(error));
  }
  return figure;
}

}  // namespace lockstep::tensorboard
