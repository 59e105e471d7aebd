#include "sniff.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

namespace lockstep::data {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kJpegStart = "\xff\xd8\xff"sv;
constexpr std::string_view kPngStart = "\x89PNG\r\n\x1a\n"sv;

struct Look {
  std::size_t place;
  std::string_view bytes;
  std::string_view what;
};

constexpr std::array kOthers = std::to_array<Look>({
    {0, "GIF8"sv, "a GIF"},
    {8, "WEBP"sv, "a WebP picture"},
    {0, "BM"sv, "a BMP"},
    {0, "II*\0"sv, "a TIFF"},
    {0, "MM\0*"sv, "a TIFF"},
    {4, "ftypavif"sv, "an AVIF picture"},
    {4, "ftyphei"sv, "an HEIC picture"},
    {4, "ftypmif1"sv, "an HEIC picture"},
    {4, "jP  "sv, "a JPEG 2000 picture"},
    {0, "\xff\x0a"sv, "a JPEG XL picture"},
    {4, "JXL "sv, "a JPEG XL picture"},
    {0, "8BPS"sv, "a Photoshop file"},
    {0, "%PDF"sv, "a PDF"},
    {0, "PK\x03\x04"sv, "a zip archive"},
    {0, "\x1f\x8b"sv, "a gzip file"},
    {257, "ustar"sv, "a tar archive"},
    {0, "version https://git-lfs"sv, "a pointer of Git LFS, whose file was not fetched"},
});

// Without regard to case: HTML has both.
bool has_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char wanted, char found) {
           return std::tolower(static_cast<unsigned char>(found)) == wanted;
         });
}

std::string_view without_space_before(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf"sv) text.remove_prefix(3);
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

std::string_view look_of_text(std::string_view text) {
  text = without_space_before(text);
  if (has_word(text, "<!doctype html") || has_word(text, "<html") || has_word(text, "<head")) return "an HTML page";
  if (has_word(text, "<svg")) return "an SVG drawing";
  if (has_word(text, "<?xml")) return "an XML file";
  const std::string_view start = text.substr(0, 64);
  const bool plain = std::all_of(start.begin(), start.end(), [](char c) {
    return (c >= ' ' && c <= '~') || std::isspace(static_cast<unsigned char>(c)) != 0;
  });
  return plain && !start.empty() ? "text" : "";
}

std::string_view look_of(std::string_view bytes) {
  for (const Look& look : kOthers) {
    if (bytes.size() >= look.place && bytes.substr(look.place, look.bytes.size()) == look.bytes) return look.what;
  }
  return look_of_text(bytes.substr(0, 1024));
}

}  // namespace

SampleError bad_picture(std::string message, std::string found, std::string expected) {
  return SampleError({.message = std::move(message),
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .next = "bring the file again from where it came, or leave it out"});
}

Format sniff(std::span<const std::byte> encoded) {
  const std::string_view bytes(reinterpret_cast<const char*>(encoded.data()), encoded.size());
  if (bytes.empty()) throw bad_picture("the file is empty", "0 bytes", "a JPEG or PNG");
  if (bytes.substr(0, kJpegStart.size()) == kJpegStart) return Format::kJpeg;
  if (bytes.substr(0, kPngStart.size()) == kPngStart) return Format::kPng;
  if (bytes.find_first_not_of('\0') == std::string_view::npos) {
    throw bad_picture("the file holds nothing but zeros, as one whose writing was interrupted",
                      fmt::format("{} bytes of 0", bytes.size()), "a JPEG or PNG");
  }
  if (const std::string_view look = look_of(bytes); !look.empty()) {
    throw bad_picture(fmt::format("this is no JPEG and no PNG: it looks like {}", look));
  }
  std::string start;
  for (const char byte : bytes.substr(0, 8)) start += fmt::format(" {:02x}", static_cast<unsigned char>(byte));
  throw bad_picture("this is no JPEG and no PNG", "a file that begins with" + start);
}

}  // namespace lockstep::data
