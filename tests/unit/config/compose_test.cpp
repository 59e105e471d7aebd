#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/config/compose.h>

#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using config::to_flow;
using config::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Compose : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_.path() / name) << text; }

  Value load(const std::string& source) {
    auto parsed = config::parse_source(source);
    parsed.file = folder_.path() / parsed.file;
    return config::load(parsed);
  }

  std::string flow(const std::string& source) { return to_flow(load(source)); }

  std::vector<std::string> written(const std::string& file) {
    std::vector<std::string> flows;
    for (const Value& map : config::maps_written_in(folder_.path() / file)) flows.push_back(to_flow(map));
    return flows;
  }

  std::string refusal(const std::string& source) {
    try {
      load(source);
    } catch (const UsageError& error) {
      std::string text = error.what();
      const std::string folder = folder_.path().string() + "/";
      for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
      return text;
    }
    return "it was loaded";
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Compose, ASectionHasTheKeysOfItsFileAndChangesSome) {
  write("a.yaml", "batch: 1\nmodel: {name: x, stem: y}\nsections:\n  big: {batch: 2, model: {stem: z}}\n");
  EXPECT_EQ(flow("a.yaml"), "{batch: 1, model: {name: x, stem: y}}");
  EXPECT_EQ(flow("a.yaml:big"), "{batch: 2, model: {name: x, stem: z}}");
}

TEST_F(Compose, SectionsExtendOneAnotherThroughSeveralLevels) {
  write("a.yaml",
        "sections:\n"
        "  one: {a: 1, m: {x: 1, y: 1}, l: [1, 2]}\n"
        "  two: {extends: one, b: 2, m: {y: 2}}\n"
        "  three: {extends: two, a: 3, l: [3]}\n");
  EXPECT_EQ(flow("a.yaml:three"), "{a: 3, m: {x: 1, y: 2}, l: [3], b: 2}");
}

TEST_F(Compose, FilesExtendFilesAndTheirSections) {
  write("base.yaml", "a: 1\nb: 1\nsections: {s: {b: 2}}\n");
  write("middle.yaml", "extends: base.yaml:s\nc: 3\n");
  write("top.yaml", "extends: middle.yaml\nsections:\n  t: {extends: [base.yaml, u], d: 4}\n  u: {a: 9}\n");
  EXPECT_EQ(flow("top.yaml"), "{a: 1, b: 2, c: 3}");
  EXPECT_EQ(flow("top.yaml:t"), "{a: 9, b: 1, c: 3, d: 4}");
}

TEST_F(Compose, AFileHasTheSectionsOfTheFilesThatItExtends) {
  write("base.yaml", "a: 1\nb: 1\nsections:\n  s: {b: 2}\n  t: {extends: s, c: 3}\n  u: {c: 4}\n");
  write("top.yaml", "extends: base.yaml\na: 9\nsections:\n  u: {c: 5}\n  v: {extends: t, d: 6}\n");
  EXPECT_EQ(flow("top.yaml:t"), "{a: 9, b: 2, c: 3}");
  EXPECT_EQ(flow("top.yaml:u"), "{a: 9, b: 1, c: 5}");
  EXPECT_EQ(flow("top.yaml:v"), "{a: 9, b: 2, c: 3, d: 6}");
  EXPECT_THAT(refusal("top.yaml:w"), HasSubstr("one of u, v, s, t"));
}

TEST_F(Compose, ASectionExtendsTheOneOfItsNameThatItsFileGot) {
  write("base.yaml", "a: 1\nsections:\n  s: {b: 2, c: 2}\n  t: {extends: s, d: 3}\n");
  write("top.yaml",
        "extends: base.yaml\nsections:\n  s: {extends: s, c: 9}\n  u: {extends: s, e: 5}\n  v: {extends: v}\n");
  EXPECT_EQ(flow("top.yaml:s"), "{a: 1, b: 2, c: 9}");
  EXPECT_EQ(flow("top.yaml:u"), "{a: 1, b: 2, c: 9, e: 5}");
  // Names mean what they mean where they are written.
  EXPECT_EQ(flow("top.yaml:t"), "{a: 1, b: 2, c: 2, d: 3}");
  EXPECT_THAT(refusal("top.yaml:v"),
              HasSubstr("top.yaml:5: there is no section 'v' in the files that top.yaml extends"));
}

TEST_F(Compose, ASectionOfAnotherFileBringsThatFileAlong) {
  write("base.yaml", "a: 1\nsections: {s: {b: 2}}\n");
  write("top.yaml", "a: 9\nsections: {t: {extends: base.yaml:s}}\n");
  EXPECT_EQ(flow("top.yaml:t"), "{a: 1, b: 2}");
}

TEST_F(Compose, NullTakesAKeyBack) {
  write("a.yaml", "a: 1\nsections: {s: {a: ~}}\n");
  EXPECT_EQ(flow("a.yaml:s"), "{a: null}");
}

TEST_F(Compose, WhereAValueCameFromStaysKnown) {
  write("base.yaml", "a: 1\nm: {x: 1, y: 2}\n");
  write("a.yaml", "extends: base.yaml\n\nm: {y: 3}\n");
  const Value root = load("a.yaml");
  EXPECT_THAT(root.find("m")->find("x")->place.text(), HasSubstr("base.yaml:2"));
  EXPECT_THAT(root.find("m")->find("y")->place.text(), HasSubstr("a.yaml:3"));
}

TEST_F(Compose, WhatAFileSaysItselfIsWithoutWhatItExtends) {
  write("a.yaml", "extends: nowhere.yaml\na: 1\nsections:\n  s: {extends: t, b: 2}\n  none:\n  t: {a: 3}\n");
  EXPECT_THAT(written("a.yaml"), ElementsAre("{a: 1}", "{b: 2}", "{a: 3}"));
  write("b.yaml", "a: 1\n");
  EXPECT_THAT(written("b.yaml"), ElementsAre("{a: 1}"));
}

TEST_F(Compose, AnEmptyFileIsAConfigOfDefaults) {
  write("a.yaml", "# nothing yet\n");
  EXPECT_EQ(flow("a.yaml"), "{}");
}

TEST_F(Compose, MistakesAreNamedWithTheirLine) {
  write("a.yaml",
        "sections:\n  bs128: {a: 1}\n  loop: {extends: pool}\n  pool: {extends: loop}\n  lost: {extends: bs129}\n");
  EXPECT_THAT(refusal("a.yaml:bs182"), HasSubstr("there is no section 'bs182' in a.yaml; did you mean 'bs128'?"));
  EXPECT_THAT(refusal("a.yaml:loop"), HasSubstr("a.yaml:4: 'extends' leads back to where it began"));
  EXPECT_THAT(refusal("a.yaml:lost"), HasSubstr("a.yaml:5: there is no section 'bs129'"));
  EXPECT_THAT(refusal("b.yaml"), HasSubstr("b.yaml"));
  write("self.yaml", "extends: self.yaml\n");
  EXPECT_THAT(refusal("self.yaml"), HasSubstr("self.yaml:1: 'extends' leads back"));
  write("far.yaml", "a: 1\nextends: nowhere.yaml\n");
  EXPECT_THAT(refusal("far.yaml"), HasSubstr("far.yaml:2: there is no file"));
  write("list.yaml", "- a\n");
  EXPECT_THAT(refusal("list.yaml"), HasSubstr("list.yaml:1: this is no config"));
  write("wrong.yaml", "extends: bs128\n");
  EXPECT_THAT(refusal("wrong.yaml"), HasSubstr("a file extends other files, not 'bs128'"));
  write("map.yaml", "extends: {a: b}\n");
  EXPECT_THAT(refusal("map.yaml"), HasSubstr("map.yaml:1: 'extends' takes the name"));
  write("nested.yaml", "sections: {a: {sections: {b: {}}}}\n");
  EXPECT_THAT(refusal("nested.yaml:a"), HasSubstr("nested.yaml:1: a section has no sections of its own"));
  write("sections.yaml", "sections: [a]\n");
  EXPECT_THAT(refusal("sections.yaml:a"), HasSubstr("'sections' must be a map"));
  EXPECT_THAT(refusal("sections.yaml"), HasSubstr("'sections' must be a map")) << "where no section is asked for";
  write("scalar.yaml", "a: 1\nsections:\n  b: 5\n");
  EXPECT_THAT(refusal("scalar.yaml"), HasSubstr("scalar.yaml:3: the section 'b' must be a map of keys"));
}

TEST_F(Compose, AChainHasALimit) {
  for (int i = 0; i < 30; ++i) {
    write("f" + std::to_string(i) + ".yaml", "extends: f" + std::to_string(i + 1) + ".yaml\n");
  }
  EXPECT_THAT(refusal("f0.yaml"), HasSubstr("more than 16 configs"));
}

// Each names the next one twice, so that there would be 2^15 to load.
TEST_F(Compose, ATreeHasALimit) {
  write("f15.yaml", "a: 1\n");
  for (int i = 0; i < 15; ++i) {
    const std::string next = "f" + std::to_string(i + 1) + ".yaml";
    write("f" + std::to_string(i) + ".yaml", "extends: [" + next + ", " + next + "]\n");
  }
  EXPECT_THAT(refusal("f0.yaml"), HasSubstr("more than 256 configs in all"));
  EXPECT_EQ(flow("f9.yaml"), "{a: 1}");
}

TEST(ParseSource, TakesFilesAndSections) {
  EXPECT_EQ(config::parse_source("a/b.yaml").section, "");
  EXPECT_EQ(config::parse_source("a/b.yaml:bs128").section, "bs128");
  EXPECT_EQ(config::parse_source("a/b.yml:x").file, "a/b.yml");
  for (const char* text : {"a", "a.yaml:", "a:b", "imagenet/"})
    EXPECT_THROW(config::parse_source(text), UsageError) << text;
}

TEST(Set, PutsAValueInItsPlace) {
  Value root = config::parse_yaml("optimizer: {lr: 0.1, name: sgd}", "a.yaml");
  config::set(root, "optimizer.lr=0.5", "--set");
  config::set(root, "data.transforms=[flip, crop: {size: 4}]", "--set");
  config::set(root, "name=a=b", "--set");
  EXPECT_EQ(to_flow(root),
            "{optimizer: {lr: 0.5, name: sgd}, data: {transforms: [flip, {crop: {size: 4}}]}, name: \"a=b\"}");
  EXPECT_EQ(root.find("optimizer")->find("lr")->place.text(), "--set optimizer.lr");
  for (const char* text : {"lr", "=1", "a..b=1", ".a=1", "a=", "a= "})
    EXPECT_THROW(config::set(root, text, "--set"), UsageError) << text;
  EXPECT_THROW(config::set(root, "a=[1", "--set"), UsageError);
}

}  // namespace
}  // namespace lockstep::test
