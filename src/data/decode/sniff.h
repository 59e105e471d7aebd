// What a file is, by its first bytes.
#pragma once
#include <cstddef>
#include <span>

#include <lockstep/data/picture.h>

namespace lockstep::data {

enum class Format { kJpeg, kPng };

// Throws SampleError that says what else the bytes look like.
Format sniff(std::span<const std::byte> encoded);

// For what a decoder refuses: `message` is a sentence, `found` the library's own words if it has some.
SampleError bad_picture(std::string message, std::string found = "", std::string expected = "");

}  // namespace lockstep::data
