#include "data/tools/mat_file.h"

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "mat_file.h"

namespace lockstep::data {
namespace {

std::vector<Synset> read(const std::string& text) {
  return read_synsets(std::as_bytes(std::span(text)));
}

TEST(MatFile, GivesIdsAndWnids) {
  const auto synsets = read(test::meta_mat({"n02119789", "n01440764"}));
  ASSERT_EQ(synsets.size(), 2U);
  EXPECT_EQ(synsets[0].id, 1);
  EXPECT_EQ(synsets[0].wnid, "n02119789");
  EXPECT_EQ(synsets[1].id, 2);
  EXPECT_EQ(synsets[1].wnid, "n01440764");
}

TEST(MatFile, SurvivesEveryTruncationAndFlip) {
  const std::string good = test::meta_mat({"n02119789", "n01440764", "n03000134"});
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_THROW(read(good.substr(0, i)), UsageError) << i;
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x21);
    try {
      EXPECT_LE(read(bad).size(), 3U);
    } catch (const UsageError&) {
    }
  }
}

// Without compression and its checksum, every value reaches the reader.
TEST(MatFile, SurvivesEveryFlipOfAnUncompressedArray) {
  const std::string header = test::meta_mat({"n02119789"}).substr(0, 128);
  const std::string names =
      std::string("ILSVRC2012_ID\0\0\0\0\0", 18) + std::string("WNID\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18);
  const std::string good =
      header + test::mat_array(2, 1, 1, "synsets",
                               test::mat_element(5, test::little_endian(18)) + test::mat_element(1, names) +
                                   test::mat_number(1) + test::mat_text("n02119789"));
  EXPECT_EQ(read(good).at(0).wnid, "n02119789");
  for (std::size_t i = 128; i < good.size(); ++i) {
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      try {
        EXPECT_LE(read(bad).size(), 100'000U);
      } catch (const UsageError&) {
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::data
