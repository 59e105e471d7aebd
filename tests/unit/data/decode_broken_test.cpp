#include <gmock/gmock.h>

#include <lockstep/data/decode.h>
#include <lockstep/data/picture.h>
#include <lockstep/data/random_stream.h>

#include "pictures.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::bytes_of;
using test::ThrowsWith;

std::string error_of(const std::string& content) {
  Image image;
  try {
    decode(bytes_of(content), 3, image);
  } catch (const SampleError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

struct Broken {
  const char* name;
  std::vector<std::string> says;
};

class BrokenPicture : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenPicture, IsRefusedInWords) {
  const std::string error = error_of(test::content(test::pictures_folder() / "broken" / GetParam().name));
  for (const std::string& part : GetParam().says) EXPECT_THAT(error, ::testing::HasSubstr(part));
  EXPECT_THAT(error, ::testing::HasSubstr("next:"));
}

const Broken kBroken[] = {
    {"empty.jpg", {"the file is empty"}},
    {"zeros.jpg", {"nothing but zeros", "200 bytes"}},
    {"page.jpg", {"no JPEG and no PNG", "looks like an HTML page"}},
    {"noise.jpg", {"no JPEG and no PNG", "begins with"}},
    {"gif.jpg", {"looks like a GIF"}},
    {"webp.png", {"looks like a WebP picture"}},
    {"truncated.jpg", {"the JPEG is truncated", "bytes, and no end"}},
    {"no_end.jpg", {"the JPEG is truncated"}},
    {"truncated.png", {"the PNG is truncated"}},
    {"no_end.png", {"the PNG is truncated"}},
    {"checksum.png", {"the PNG cannot be decoded", "CRC error"}},
    {"damaged.png", {"the PNG cannot be decoded", "IDAT"}},
    {"huge_chunk.png", {"the PNG is truncated"}},
    {"bomb.jpg", {"larger than it may be", "60000 x 60000 pixels", "at most 178,956,970"}},
    {"bomb.png", {"larger than it may be", "60000 x 60000 pixels", "at most 178,956,970"}},
    {"scans.jpg", {"more scans than a picture needs", "more than 100"}},
    {"twelve_bits.jpg", {"the JPEG cannot be decoded", "precision 12"}},
};
INSTANTIATE_TEST_SUITE_P(Decode, BrokenPicture, ::testing::ValuesIn(kBroken), [](const auto& picture) {
  std::string name = picture.param.name;
  name[name.find('.')] = '_';
  return name;
});

TEST(BrokenPictures, EachHasItsMessage) {
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(test::pictures_folder() / "broken")) {
    ++files;
  }
  EXPECT_EQ(files, std::size(kBroken));
}

TEST(BrokenPictures, BombIsRefusedFromItsHeader) {
  for (const char* name : {"bomb.jpg", "bomb.png"}) {
    const std::string content = test::content(test::pictures_folder() / "broken" / name);
    EXPECT_THAT([&] { picture_size(bytes_of(content)); }, ThrowsWith<SampleError>("60000 x 60000")) << name;
  }
}

TEST(BrokenPictures, WhatElseAFileLooksLikeIsSaid) {
  using namespace std::string_literals;
  const std::pair<std::string, const char*> looks[] = {
      {"<HTML lang=de>"s, "an HTML page"},
      {"\xef\xbb\xbf  <html>"s, "an HTML page"},
      {"<?xml version='1.0'?>"s, "an XML file"},
      {"<svg xmlns=''/>"s, "an SVG drawing"},
      {"{\"error\": \"quota\"}"s, "text"},
      {"BM123456"s, "a BMP"},
      {"II*\0abcd"s, "a TIFF"},
      {"\0\0\0\x20"
       "ftypheic"s,
       "an HEIC picture"},
      {"\0\0\0\x20"
       "ftypavif"s,
       "an AVIF picture"},
      {"version https://git-lfs.github.com/spec/v1"s, "a pointer of Git LFS"},
  };
  for (const auto& [content, look] : looks) EXPECT_THAT(error_of(content), ::testing::HasSubstr(look)) << content;
}

TEST(BrokenPictures, AnErrorTakesTheNameOfItsSample) {
  try {
    picture_size({});
    FAIL();
  } catch (const SampleError& error) {
    const SampleError named = error.of("train/cat/12\n.jpg");
    EXPECT_THAT(named.what(), ::testing::StartsWith("train/cat/12\\n.jpg: the file is empty"));
    EXPECT_EQ(named.parts().next, error.parts().next);
  }
}

// Damage is found or gives wrong pixels; it never does harm.
TEST(BrokenPictures, FlippedBitsDoNoHarm) {
  RandomStream random(4, 5, 6);
  for (const auto& path : test::good_pictures()) {
    const std::string content = test::content(path);
    for (int trial = 0; trial < 40; ++trial) {
      std::string damaged = content;
      char& byte = damaged[random.below(damaged.size())];
      byte = static_cast<char>(byte ^ (1 << random.below(8)));
      Image image;
      try {
        decode(bytes_of(damaged), 3, image, {.pixels = 1 << 20});
      } catch (const SampleError&) {
        continue;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::data
