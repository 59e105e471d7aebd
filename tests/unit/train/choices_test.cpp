// What the keys offer is what the library knows: the list of keys is made without libtorch and cannot ask it.
#include <gmock/gmock.h>

#include <lockstep/amp/precision.h>
#include <lockstep/base/text.h>
#include <lockstep/gpu/ranges.h>
#include <lockstep/nn/model.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/train/run_config.h>

namespace lockstep::test {
namespace {

std::vector<std::string> choices_of(const std::string& path) {
  train::RunConfig config;
  for (const auto& key : train::schema_of(config).keys()) {
    if (key.path != path) continue;
    const std::string list = key.type.substr(std::string("one of ").size());
    std::vector<std::string> words;
    for (const std::string& word : split(list, ',')) words.push_back(word.starts_with(' ') ? word.substr(1) : word);
    return words;
  }
  return {};
}

TEST(Choices, AreWhatTheLibraryKnows) {
  EXPECT_EQ(choices_of("optimizer.name"), optim::optimizer_names());
  for (const std::string& level : choices_of("precision.level")) EXPECT_NO_THROW(amp::parse_precision(level)) << level;
  for (const std::string& stem : choices_of("model.stem")) EXPECT_NO_THROW(nn::parse_stem(stem)) << stem;
  for (const std::string& kind : choices_of("profile.nvtx")) EXPECT_NO_THROW(gpu::parse_range_detail(kind)) << kind;
  EXPECT_EQ(choices_of("precision.level").size(), 7U);
  EXPECT_EQ(choices_of("model.stem").size(), 3U);
  EXPECT_EQ(choices_of("profile.nvtx").size(), 3U);
}

}  // namespace
}  // namespace lockstep::test
