// The C++ side of decode.py: writes each picture as colors and as gray, whole and shrunk, in the form that Pillow
// reads.
//
// usage: parity_decode FOLDER PICTURE...
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/data/decode.h>

namespace {

using lockstep::data::Image;

void write(const std::filesystem::path& path, const Image& image) {
  std::ofstream out(path, std::ios::binary);
  out << fmt::format("P{}\n{} {}\n255\n", image.channels() == 3 ? 6 : 5, image.width(), image.height());
  out.write(reinterpret_cast<const char*>(image.pixels().data()), static_cast<std::streamsize>(image.bytes()));
}

int body(int argc, char** argv) {
  const std::filesystem::path folder = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::filesystem::path path = argv[i];
    const std::string content = lockstep::files::read(path);
    const auto encoded = std::as_bytes(std::span(content));
    const auto size = lockstep::data::picture_size(encoded);
    for (const int shrink : {1, 2, 4, 8}) {
      for (const int channels : {1, 3}) {
        Image image;
        lockstep::data::decode(encoded, {.width = size.width, .height = size.height}, shrink, channels, image);
        write(folder / fmt::format("{}.{}.{}", path.filename().string(), shrink, channels), image);
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
