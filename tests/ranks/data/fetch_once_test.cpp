// A data set that one rank brings for all.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/data/fetch_once.h>

#include "temporary_folder.h"
#include "throws_with.h"
#include "world.h"

namespace lockstep::test {
namespace {

// Rank 0's folder, with a catalog of one set that is a file of known content.
class FetchOnce : public ::testing::Test {
 protected:
  FetchOnce() : path_(world().broadcast_text(own_.path().string())) {
    if (world().rank() == 0) {
      own_.write("catalog.json", fmt::format(R"({{"sets": [{{"name": "own", "title": "Ours", "files": [{{"name":
          "own.bin", "size": {}, "digest": "sha256:{}", "urls": ["https://nobody.invalid/own.bin"]}}]}}]}})",
                                             content_.size(), files::sha256(content_)));
    }
    world().barrier();
  }
  ~FetchOnce() override { world().barrier(); }  // before rank 0's folder goes

  void fetch() {
    data::fetch_once(world(), "own", path_, {"--catalog", (path_ / "catalog.json").string(), "--timeout", "2"});
  }

  const std::string content_ = "what the set holds";
  TemporaryFolder own_;
  std::filesystem::path path_;
};

TEST_F(FetchOnce, EveryRankGoesOnWhenTheSetIsThere) {
  if (world().rank() == 0) own_.write("own.bin", content_);
  world().barrier();
  fetch();
  EXPECT_EQ(files::read(path_ / "own.bin"), content_);
}

TEST_F(FetchOnce, EveryRankIsToldWhenItCannotBeBrought) {
  EXPECT_THAT([&] { fetch(); }, ThrowsWith<RuntimeError>("the data set 'own' could not be brought"));
}

}  // namespace
}  // namespace lockstep::test
