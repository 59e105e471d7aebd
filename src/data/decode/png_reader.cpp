#include "png_reader.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "color.h"
#include "sniff.h"

namespace lockstep::data {
namespace {

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kFrameBytes = 12;  // of a chunk: its length, name and checksum

struct Chunk {
  std::string_view name;
  std::span<const std::byte> data;
};

// Takes the next chunk off `rest`; nothing where the bytes end before the chunk does.
std::optional<Chunk> take_chunk(std::span<const std::byte>& rest) {
  if (rest.size() < kFrameBytes) return std::nullopt;
  std::size_t length = 0;
  for (const std::byte byte : rest.first(4)) length = length << 8 | std::to_integer<std::size_t>(byte);
  if (length > rest.size() - kFrameBytes) return std::nullopt;
  const Chunk chunk{.name = {reinterpret_cast<const char*>(rest.data()) + 4, 4}, .data = rest.subspan(8, length)};
  rest = rest.subspan(kFrameBytes + length);
  return chunk;
}

}  // namespace

PngReader::PngReader(std::span<const std::byte> encoded) : encoded_(encoded) {
  find_orientation();
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &note_error, [](png_structp, png_const_charp) {});
  if (png_ == nullptr) throw std::bad_alloc();
  if (!jump_.run([this] { read_header(); })) {
    png_destroy_read_struct(&png_, &info_, nullptr);
    throw_error();
  }
}

PngReader::~PngReader() {
  png_destroy_read_struct(&png_, &info_, nullptr);
}

void PngReader::read_header() {
  info_ = png_create_info_struct(png_);
  png_set_read_fn(png_, this, &take);
  png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  // Comments, profiles and the like are neither kept nor unpacked.
  png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(png_, info_);
}

void PngReader::take(png_structp png, png_bytep target, std::size_t count) {
  auto& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader.encoded_.size() - reader.position_) {
    reader.truncated_ = true;
    reader.jump_.jump();
  }
  std::memcpy(target, reader.encoded_.data() + reader.position_, count);
  reader.position_ += count;
}

void PngReader::note_error(png_structp png, png_const_charp text) {
  auto& reader = *static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader.text_.data(), reader.text_.size(), "%s", text);
  reader.jump_.jump();
}

void PngReader::throw_error() const {
  if (truncated_) {
    throw bad_picture("the PNG is truncated", fmt::format("{} bytes, and no end of the picture", encoded_.size()));
  }
  if (std::strcmp(text_.data(), "Out of memory") == 0) throw std::bad_alloc();
  throw bad_picture("the PNG cannot be decoded", text_.data());
}

ImageSize PngReader::size() const {
  return {.width = static_cast<int>(png_get_image_width(png_, info_)),
          .height = static_cast<int>(png_get_image_height(png_, info_))};
}

// libpng would take as much memory for EXIF data as the chunk says that it needs, before it finds that the file ends.
void PngReader::find_orientation() {
  std::span<const std::byte> rest = encoded_.subspan(kSignatureBytes);
  while (const std::optional<Chunk> chunk = take_chunk(rest)) {
    if (chunk->name == "IDAT") return;
    if (chunk->name == "eXIf") orientation_ = exif_orientation(chunk->data);
  }
}

void PngReader::choose_form(int channels) {
  const int colors = png_get_color_type(png_, info_);
  if (colors == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
  if (colors == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
  png_set_strip_16(png_);
  png_set_strip_alpha(png_);
  if (channels == 3 && (colors & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png_);
}

void PngReader::read(int left, int top, int /*shrink*/, Canvas& canvas) {
  if (!has_end()) {
    truncated_ = true;
    throw_error();
  }
  std::size_t row_bytes = 0;
  int passes = 1;
  const bool begun = jump_.run([&] {
    choose_form(canvas.channels());
    passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    row_bytes = png_get_rowbytes(png_, info_);
  });
  if (!begun) throw_error();

  // The passes of an interlaced picture go over all of it; else one row is enough.
  const int height = passes > 1 ? size().height : 1;
  const auto memory = std::make_unique_for_overwrite<std::uint8_t[]>(row_bytes * static_cast<std::size_t>(height));
  const auto row = [&, rows = memory.get()](int y) { return rows + row_bytes * static_cast<std::size_t>(y % height); };
  const int stored_channels = png_get_channels(png_, info_);
  const bool done = jump_.run([&] {
    for (int pass = 0; pass + 1 < passes; ++pass) {
      for (int y = 0; y < height; ++y) png_read_row(png_, row(y), nullptr);
    }
    for (int y = 0; y < top + canvas.height(); ++y) {
      png_read_row(png_, row(y), nullptr);
      if (y < top) continue;
      std::uint8_t* pixels = row(y) + static_cast<std::ptrdiff_t>(left) * stored_channels;
      if (stored_channels > canvas.channels()) rgb_to_gray(pixels, canvas.width());
      canvas.put_row(y - top, pixels);
    }
    // What follows the last row has checksums too.
    if (top + canvas.height() == size().height) png_read_end(png_, nullptr);
  });
  if (!done) throw_error();
}

// Rows below the region are not read, but the chunks that hold them must be there, up to the last one.
bool PngReader::has_end() const {
  std::span<const std::byte> rest = encoded_.subspan(kSignatureBytes);
  while (const std::optional<Chunk> chunk = take_chunk(rest)) {
    if (chunk->name == "IEND") return true;
  }
  return false;
}

}  // namespace lockstep::data
