#include "jpeg_reader.h"

#include <jerror.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "color.h"
#include "sniff.h"

namespace lockstep::data {
namespace {

using namespace std::string_view_literals;

// A progressive picture has about ten. Each is a pass over the whole picture, and an empty one takes a few bytes.
constexpr int kMaxScans = 100;

constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr unsigned kLongestMarker = 0xffff;
constexpr std::string_view kExifStart = "Exif\0\0"sv;

// Chroma of half the width is interpolated from its neighbours, so a column depends on pixels up to two away; and
// libjpeg-turbo interpolates only where there are more than two such columns.
constexpr int kColumnsAround = 2;
constexpr int kFewestColumns = 16;

// libjpeg-turbo writes a row that is aligned for its vectors past the caches, where reading it again is slow.
constexpr JDIMENSION kMisalignment = 8;

}  // namespace

JpegReader::JpegReader(std::span<const std::byte> encoded) : bytes_(encoded.size()) {
  set_callbacks();
  source_.next_input_byte = reinterpret_cast<const JOCTET*>(encoded.data());
  source_.bytes_in_buffer = encoded.size();
  const bool done = jump_.run([this] {
    jpeg_create_decompress(&info_);
    info_.src = &source_;
    info_.progress = &progress_;
    jpeg_save_markers(&info_, kExifMarker, kLongestMarker);
    jpeg_read_header(&info_, TRUE);
  });
  if (!done) {
    jpeg_destroy_decompress(&info_);
    throw_error();
  }
  find_orientation();
}

JpegReader::~JpegReader() {
  jpeg_destroy_decompress(&info_);
}

void JpegReader::set_callbacks() {
  info_.err = jpeg_std_error(&errors_);
  info_.client_data = this;
  errors_.error_exit = [](j_common_ptr info) { of(info).fail(Trouble::kDamage); };
  errors_.emit_message = [](j_common_ptr, int) {};
  source_.init_source = [](j_decompress_ptr) {};
  source_.term_source = [](j_decompress_ptr) {};
  source_.resync_to_restart = jpeg_resync_to_restart;
  // All bytes are there from the beginning: who asks for more has a file that ends too early.
  source_.fill_input_buffer = [](j_decompress_ptr info) -> boolean {
    of(reinterpret_cast<j_common_ptr>(info)).fail(Trouble::kEnd);
  };
  source_.skip_input_data = [](j_decompress_ptr info, long count) {
    if (count <= 0) return;
    const auto skipped = static_cast<std::size_t>(count);
    if (skipped > info->src->bytes_in_buffer) of(reinterpret_cast<j_common_ptr>(info)).fail(Trouble::kEnd);
    info->src->next_input_byte += skipped;
    info->src->bytes_in_buffer -= skipped;
  };
  progress_.progress_monitor = [](j_common_ptr info) {
    JpegReader& reader = of(info);
    if (reader.info_.input_scan_number > kMaxScans) reader.fail(Trouble::kTooManyScans);
  };
}

void JpegReader::fail(Trouble trouble) {
  trouble_ = trouble;
  jump_.jump();
}

void JpegReader::throw_error() {
  switch (trouble_) {
    case Trouble::kEnd:
      throw bad_picture("the JPEG is truncated", fmt::format("{} bytes, and no end of the picture", bytes_));
    case Trouble::kTooManyScans:
      throw bad_picture("the JPEG has more scans than a picture needs", fmt::format("more than {}", kMaxScans));
    case Trouble::kDamage:
      break;
  }
  if (errors_.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  std::array<char, JMSG_LENGTH_MAX> text{};
  errors_.format_message(reinterpret_cast<j_common_ptr>(&info_), text.data());
  throw bad_picture("the JPEG cannot be decoded", text.data());
}

ImageSize JpegReader::size() const {
  return {.width = static_cast<int>(info_.image_width), .height = static_cast<int>(info_.image_height)};
}

void JpegReader::find_orientation() {
  for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (data.substr(0, kExifStart.size()) != kExifStart) continue;
    orientation_ = exif_orientation(std::as_bytes(std::span(data)).subspan(kExifStart.size()));
    return;
  }
}

void JpegReader::choose_colors(int channels) {
  switch (info_.jpeg_color_space) {
    case JCS_GRAYSCALE:
    case JCS_YCbCr:
    case JCS_RGB:
      info_.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      break;
    case JCS_CMYK:
    case JCS_YCCK:
      info_.out_color_space = JCS_CMYK;
      break;
    default:
      throw bad_picture("the JPEG has colors of a kind that is not known",
                        fmt::format("{} components", info_.num_components), "gray, RGB, YCbCr, CMYK or YCCK");
  }
}

void JpegReader::read(int left, int top, int shrink, Canvas& canvas) {
  choose_colors(canvas.channels());
  info_.scale_denom = static_cast<unsigned>(shrink);
  // Guesses at what a progressive file leaves out, other ones for a part than for the whole.
  info_.do_block_smoothing = FALSE;
  if (!jump_.run([&] { read_rows(left, top, canvas); })) throw_error();
  if (!has_end()) {
    trouble_ = Trouble::kEnd;
    throw_error();
  }
}

// Leaves out the columns that are not needed. Returns the place of the first that is left.
int JpegReader::crop_columns(int left, int count) {
  // libjpeg-turbo miscounts the columns of chroma that is both shrunk less than luma and still to be widened.
  if (info_.scale_denom > 1 && (info_.max_h_samp_factor > 2 || info_.max_v_samp_factor > 2)) return 0;
  const int width = static_cast<int>(info_.output_width);
  const int first = std::max(0, left - kColumnsAround);
  const int end = std::min(width, std::max(left + count + kColumnsAround, first + kFewestColumns));
  if (first == 0 && end == width) return 0;
  auto offset = static_cast<JDIMENSION>(first), columns = static_cast<JDIMENSION>(end - first);
  jpeg_crop_scanline(&info_, &offset, &columns);
  return static_cast<int>(offset);
}

// Neither this nor what it calls makes an object with a destructor: libjpeg's errors jump over them.
void JpegReader::read_rows(int left, int top, Canvas& canvas) {
  jpeg_start_decompress(&info_);
  const int extra = (left - crop_columns(left, canvas.width())) * info_.output_components;
  const auto row_bytes = info_.output_width * static_cast<JDIMENSION>(info_.output_components);
  JSAMPROW row =
      *info_.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&info_), JPOOL_IMAGE, row_bytes + kMisalignment, 1) +
      kMisalignment;
  if (top > 0) jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(top));
  for (int y = 0; y < canvas.height(); ++y) {
    jpeg_read_scanlines(&info_, &row, 1);
    std::uint8_t* pixels = row + extra;
    if (info_.out_color_space == JCS_CMYK) {
      inverted_cmyk_to_rgb(pixels, canvas.width());
      if (canvas.channels() == 1) rgb_to_gray(pixels, canvas.width());
    }
    canvas.put_row(y, pixels);
  }
}

// Rows below the region were not read, but a file of which they are missing has no end marker either. It cannot occur
// within the data of a picture, and more bytes may follow it.
bool JpegReader::has_end() {
  if (info_.unread_marker == JPEG_EOI || jpeg_input_complete(&info_) != FALSE) return true;
  const std::string_view rest(reinterpret_cast<const char*>(source_.next_input_byte), source_.bytes_in_buffer);
  return rest.rfind("\xff\xd9"sv) != std::string_view::npos;
}

}  // namespace lockstep::data
