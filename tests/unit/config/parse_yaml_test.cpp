#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/config/value.h>

namespace lockstep::test {
namespace {

using config::parse_yaml;
using config::to_flow;
using config::Value;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string refusal(const std::string& text) {
  try {
    parse_yaml(text, "a.yaml");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "it was read";
}

TEST(ParseYaml, KeepsWhereEachThingWasWritten) {
  const Value root = parse_yaml("a: 1\nb:\n  c: [x, y]\n", "a.yaml");
  ASSERT_EQ(root.entries.size(), 2U);
  EXPECT_EQ(root.find("a")->place.text(), "a.yaml:1");
  EXPECT_EQ(root.entries[1].place.text(), "a.yaml:2");
  EXPECT_EQ(root.find("b")->find("c")->items[1].place.text(), "a.yaml:3");
  EXPECT_EQ(root.find("d"), nullptr);
}

TEST(ParseYaml, TellsQuotedTextFromTheRest) {
  const Value root = parse_yaml("{a: 12, b: \"12\", c: '~', d: ~, e: null, f: , g: ''}", "a.yaml");
  EXPECT_FALSE(root.find("a")->quoted);
  EXPECT_TRUE(root.find("b")->quoted);
  EXPECT_EQ(root.find("c")->text, "~");
  for (const char* key : {"d", "e", "f"}) EXPECT_EQ(root.find(key)->kind, Value::Kind::kNull) << key;
  EXPECT_EQ(root.find("g")->kind, Value::Kind::kScalar);
}

TEST(ParseYaml, ReadsWhatItWrote) {
  for (const char* text : {"{a: [1, 2.5, x], b: {c: null}}", "{a: \"12\", b: \"a, b\", c: \"say \\\"hi\\\"\\n\"}", "[]",
                           "{}", "[\"\", \"-\", \"a b\", \"#x\"]", "{\"😀\": \"Zoë 👩‍🔬\"}"}) {
    EXPECT_EQ(to_flow(parse_yaml(text, "a.yaml")), text);
  }
}

TEST(ParseYaml, RepeatsWhatAnAliasNames) {
  const Value root = parse_yaml("a: &x {b: 1}\nc: *x\n", "a.yaml");
  EXPECT_EQ(to_flow(*root.find("c")), "{b: 1}");
}

TEST(ParseYaml, NamesTheLineOfWhatIsMalformed) {
  EXPECT_THAT(refusal("a: 1\nb: [1, 2\n"), StartsWith("a.yaml:"));
  EXPECT_THAT(refusal("a: 1\n  b: 2\n"), StartsWith("a.yaml:2: "));
  EXPECT_THAT(refusal("a: *nobody\n"), StartsWith("a.yaml:1: "));
  EXPECT_EQ(refusal("a: 1\nb: 2\na: 3\n"), "a.yaml:3: the key 'a' is there already, in line 1");
  EXPECT_EQ(refusal("a: 1\n? [x]\n: 2\n"), "a.yaml:2: a key must be a word, not a list or a map");
  EXPECT_EQ(refusal("a: !!python/object:os.system x\n"),
            "a.yaml:1: the tag 'tag:yaml.org,2002:python/object:os.system' is not known here");
  EXPECT_EQ(refusal("a: &x [*x]\n"), "a.yaml:1: an alias inside of what it names");
  EXPECT_THAT(refusal("a: 1\n---\nb: 1\n"), StartsWith("a.yaml has more than one document"));
  EXPECT_THAT(refusal(std::string("a: 1\0b", 6)), StartsWith("a.yaml is no text"));
  EXPECT_THAT(refusal("a: \xcd\xc3"), StartsWith("a.yaml is no text"));
}

TEST(ParseYaml, HasLimits) {
  EXPECT_THAT(refusal(std::string(2 << 20, ' ')), StartsWith("a.yaml is too large for a config"));
  EXPECT_EQ(refusal(std::string(100, '[') + std::string(100, ']')), "a.yaml:1: more than 32 levels");
  EXPECT_THAT(refusal(std::string(100'000, '[')), StartsWith("a.yaml:1: "));
  std::string towers = "a: &a " + std::string(20, '[') + std::string(20, ']') + "\n";
  EXPECT_EQ(refusal(towers + "b: " + std::string(20, '[') + "*a" + std::string(20, ']')),
            "a.yaml:2: more than 32 levels");
  std::string many = "a: [";
  for (int i = 0; i < 30'000; ++i) many += "1,";
  EXPECT_EQ(refusal(many + "]"), "a.yaml:1: more than 20,000 values");
  std::string laughs = "a: &a [1,1,1,1,1,1,1,1,1,1]\n";
  for (char name = 'b'; name <= 'i'; ++name) {
    laughs += std::string(1, name) + ": &" + name + " [";
    for (int i = 0; i < 10; ++i) laughs += std::string("*") + static_cast<char>(name - 1) + ",";
    laughs += "]\n";
  }
  EXPECT_EQ(refusal(laughs), "a.yaml:5: more than 20,000 values");
}

}  // namespace
}  // namespace lockstep::test
