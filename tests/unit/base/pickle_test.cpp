// A pickle is a program. Of what it may ask for, next to nothing is done.
#include <array>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/pickle.h>

#include "throws_with.h"

namespace lockstep {
namespace {

using namespace std::string_literals;
using test::ThrowsWith;
using Kind = Pickle::Kind;

constexpr std::array<std::string_view, 1> kNames = {"shop.open"};

Pickle read(const std::string& program, bool persistent_ids = false) {
  return {std::as_bytes(std::span(program)), "file", {.names = kNames, .persistent_ids = persistent_ids}};
}

auto reading(const std::string& program) {
  return [program] { read(program); };
}

// The only element of the list that a program makes.
Pickle::Value only_element(const Pickle& pickle) {
  const Pickle::Value& root = pickle.at(pickle.root());
  return pickle.at(root.elements.at(0));
}

TEST(Pickle, ReadsNumbers) {
  const auto integer = [](const std::string& program) {
    const auto value = only_element(read("\x80\x02]" + program + "\x61."));
    EXPECT_EQ(value.kind, Kind::kInteger);
    return value.integer;
  };
  EXPECT_EQ(integer("K\xff"), 255);
  EXPECT_EQ(integer("M\x2c\x01"), 300);
  EXPECT_EQ(integer("J\xfe\xff\xff\xff"), -2);
  EXPECT_EQ(integer("\x8a\x05\xff\xff\xff\xff\xff"), -1);
  EXPECT_EQ(integer("\x8a\x05\0\0\0\0\x01"s), std::int64_t{1} << 32);
  EXPECT_EQ(integer("\x8a\0"s), 0);
  EXPECT_EQ(only_element(read("\x80\x02]\x8a\x09\0\0\0\0\0\0\0\0\x01\x61."s)).number, 0x1p64);
  EXPECT_EQ(only_element(read("\x80\x02]\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\xfe\x61."s)).number, -0x1p64 - 1);
  EXPECT_EQ(only_element(read("\x80\x02]G\x3f\xf8\0\0\0\0\0\0\x61."s)).number, 1.5);
}

TEST(Pickle, CallsNothing) {
  EXPECT_THAT(reading("\x80\x02"
                      "cos\nsystem\nU\x02id\x85R."s),
              ThrowsWith<UsageError>("would run 'os.system'"));
  EXPECT_THAT(reading("\x80\x04\x8c\x08"
                      "builtins\x8c\x04"
                      "eval\x93."s),
              ThrowsWith<UsageError>("would run 'builtins.eval'"));
  EXPECT_THAT(reading("\x80\x02"
                      "cshop\nopener\n."s),
              ThrowsWith<UsageError>("shop.opener"));
  // INST, OBJ, NEWOBJ, EXT1, PERSID, BINPERSID, and the text forms of protocol 0
  for (const char* instruction :
       {"(ios\nsystem\n", "(o", "\x81", "\x82\x01", "Pid\n", "Q", "I1\n", "S'a'\n", "d", "2"}) {
    EXPECT_THAT(reading("\x80\x02"s + instruction + "."), ThrowsWith<UsageError>("is not followed")) << instruction;
  }
}

TEST(Pickle, ACallThatIsAllowedIsSaidAndNotDone) {
  const std::string program =
      "\x80\x02"
      "cshop\nopen\nK\x07\x85RK\x08\x62."s;
  const Pickle pickle = read(program);
  const Pickle::Value& call = pickle.at(pickle.root());
  EXPECT_EQ(call.kind, Kind::kCall);
  EXPECT_EQ(call.text, "shop.open");
  EXPECT_EQ(pickle.at(pickle.at(call.elements.at(0)).elements.at(0)).integer, 7);
  EXPECT_EQ(pickle.at(call.elements.at(1)).integer, 8);
}

TEST(Pickle, AnOrderedDictIsADictionaryWhoseAttributesAreLeftOut) {
  const std::string program =
      "\x80\x02"
      "ccollections\nOrderedDict\n)R(U\x01kK\x01U\x01kK\x02u}U\x01xK\x03sb."s;
  const Pickle pickle = read(program);
  const Pickle::Value& root = pickle.at(pickle.root());
  EXPECT_EQ(root.kind, Kind::kDictionary);
  EXPECT_EQ(pickle.find(root, "k")->integer, 2);  // the last of two, as in Python
  EXPECT_EQ(pickle.find(root, "x"), nullptr);
}

TEST(Pickle, APersistentIdIsThereForThoseWhoAskForIt) {
  const std::string program = "\x80\x02U\x01\x61Q."s;
  const Pickle pickle = read(program, /*persistent_ids=*/true);
  const Pickle::Value& root = pickle.at(pickle.root());
  EXPECT_EQ(root.kind, Kind::kPersistentId);
  EXPECT_EQ(pickle.at(root.elements.at(0)).text, "a");
}

TEST(Pickle, RefusesAProgramThatIsWrong) {
  EXPECT_THAT(reading(""), ThrowsWith<UsageError>("truncated"));
  EXPECT_THAT(reading("\x80\x02."s), ThrowsWith<UsageError>("does not end with one object"));
  EXPECT_THAT(reading("\x80\x02}.x"s), ThrowsWith<UsageError>("goes on after its end"));
  EXPECT_THAT(reading("\x80\x02}(."s), ThrowsWith<UsageError>("does not end with one object"));
  EXPECT_THAT(reading("\x80\x09}."s), ThrowsWith<UsageError>("protocol"));
  EXPECT_THAT(reading("\x80\x02"
                      "a."s),
              ThrowsWith<UsageError>("empty stack"));
  EXPECT_THAT(reading("\x80\x02"
                      "e."s),
              ThrowsWith<UsageError>("no mark"));
  EXPECT_THAT(reading("\x80\x02}(Nu."s), ThrowsWith<UsageError>("adds to what takes nothing"));
  EXPECT_THAT(reading("\x80\x02h\x01."s), ThrowsWith<UsageError>("recalls what it has not kept"));
  EXPECT_THAT(reading("\x80\x02q\x01."s), ThrowsWith<UsageError>("empty stack"));
  EXPECT_THAT(reading("\x80\x02NNb."s), ThrowsWith<UsageError>("gives a state to what has none"));
  EXPECT_THAT(reading("\x80\x02NNR."s), ThrowsWith<UsageError>("calls what is no function"));
  EXPECT_THAT(reading("\x80\x02"
                      "ccollections\nOrderedDict\nN\x85R."s),
              ThrowsWith<UsageError>("in an unknown way"));
}

TEST(Pickle, RefusesLengthsThatMakeNoSense_WithoutTakingMemory) {
  EXPECT_THAT(reading("\x80\x02T\xff\xff\xff\x7f."s), ThrowsWith<UsageError>("truncated"));
  EXPECT_THAT(reading("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s), ThrowsWith<UsageError>("truncated"));
  EXPECT_THAT(reading("\x80\x02" + std::string((1 << 20) + 2, 'N')), ThrowsWith<UsageError>("too long a program"));
}

TEST(Pickle, DecodesNoStringAgainAndAgain) {
  // Python 3's bytes of protocol 2, 100 times the same 1,000.
  std::string program = "\x80\x02]X\xe8\x03\0\0"s + std::string(1000, 'x') +
                        "q\x01"
                        "a";
  for (int i = 0; i < 100; ++i) program += "c_codecs\nencode\nh\x01X\x06\0\0\0latin1\x86R\x61"s;
  EXPECT_THAT(reading(program + "."), ThrowsWith<UsageError>("more bytes than it holds"));
}

}  // namespace
}  // namespace lockstep
