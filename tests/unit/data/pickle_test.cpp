// A pickle is a program. Of what it may ask for, next to nothing is done.
#include "data/pickle.h"

#include <gmock/gmock.h>

#include "throws_with.h"

namespace lockstep::data {
namespace {

using namespace std::string_literals;
using test::ThrowsWith;
using ::testing::ElementsAre;

auto reading(const std::string& program) {
  return [program] { const Pickle pickle(std::as_bytes(std::span(program)), "file"); };
}

// {'k': VALUE}
std::string dictionary(const std::string& value) {
  return "\x80\x02}U\x01k"s + value + "s.";
}

TEST(Pickle, ReadsListsOfNumbersAndStrings) {
  const std::string numbers = dictionary("](K\x07M\x2c\x01J\xfe\xff\xff\xff\x65"s);
  EXPECT_THAT(Pickle(std::as_bytes(std::span(numbers)), "file").integers("k"), ElementsAre(7, 300, -2));
  const std::string strings = dictionary("](U\x01\x61X\x01\0\0\0b\x8c\x01\x63q\x05h\x05\x65"s);
  EXPECT_THAT(Pickle(std::as_bytes(std::span(strings)), "file").strings("k"), ElementsAre("a", "b", "c", "c"));
}

TEST(Pickle, CallsNothing) {
  EXPECT_THAT(reading("\x80\x02"
                      "cos\nsystem\nU\x02id\x85R."s),
              ThrowsWith<UsageError>("os system"));
  EXPECT_THAT(reading("\x80\x04\x8c\x08"
                      "builtins\x8c\x04"
                      "eval\x93."s),
              ThrowsWith<UsageError>("builtins eval"));
  EXPECT_THAT(reading("\x80\x02"
                      "cnumpy\nfrombuffer\n."s),
              ThrowsWith<UsageError>("numpy frombuffer"));
  // INST, OBJ, NEWOBJ, EXT1, PERSID, BINPERSID, and the text forms of protocol 0
  for (const char* instruction :
       {"(ios\nsystem\n", "(o", "\x81", "\x82\x01", "Pid\n", "Q", "I1\n", "S'a'\n", "d", "2"}) {
    EXPECT_THAT(reading("\x80\x02"s + instruction + "."), ThrowsWith<UsageError>("is not followed")) << instruction;
  }
}

TEST(Pickle, RefusesArraysOfOtherTypes) {
  EXPECT_THAT(reading("\x80\x02"
                      "cnumpy\ndtype\nU\x02"
                      "O8K\0K\x01\x87R."s),
              ThrowsWith<UsageError>("O8"));
}

TEST(Pickle, RefusesAProgramThatIsWrong) {
  EXPECT_THAT(reading(""), ThrowsWith<UsageError>("truncated"));
  EXPECT_THAT(reading("\x80\x02."s), ThrowsWith<UsageError>("does not end with one object"));
  EXPECT_THAT(reading("\x80\x02N."s), ThrowsWith<UsageError>("holds no dictionary"));
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
  EXPECT_THAT(reading("\x80\x02NNb."s), ThrowsWith<UsageError>("state that is unknown"));
  EXPECT_THAT(reading("\x80\x02NNR."s), ThrowsWith<UsageError>("calls what is no function"));
}

TEST(Pickle, RefusesLengthsThatMakeNoSense_WithoutTakingMemory) {
  EXPECT_THAT(reading("\x80\x02T\xff\xff\xff\x7f."s), ThrowsWith<UsageError>("truncated"));
  EXPECT_THAT(reading("\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s), ThrowsWith<UsageError>("truncated"));
  EXPECT_THAT(reading("\x80\x02" + std::string((1 << 20) + 2, 'N')), ThrowsWith<UsageError>("too long a program"));
}

TEST(Pickle, IsNotHurtByAListThatHoldsItself) {
  const std::string program = dictionary(
      "]q\x01h\x01"
      "a");
  const Pickle pickle(std::as_bytes(std::span(program)), "file");
  EXPECT_THAT([&] { pickle.integers("k"); }, ThrowsWith<UsageError>("another kind"));
}

TEST(Pickle, DecodesNoStringAgainAndAgain) {
  // Python 3's bytes of protocol 2, 100 times the same 1,000.
  std::string program = "\x80\x02]X\xe8\x03\0\0"s + std::string(1000, 'x') +
                        "q\x01"
                        "a";
  for (int i = 0; i < 100; ++i) program += "c_codecs\nencode\nh\x01X\x06\0\0\0latin1\x86R\x61"s;
  EXPECT_THAT(reading(program + "."), ThrowsWith<UsageError>("more bytes than it holds"));
}

TEST(Pickle, SaysWhatIsNotUnderAKey) {
  const std::string program = dictionary("K\x01");
  const Pickle pickle(std::as_bytes(std::span(program)), "file");
  EXPECT_THAT([&] { pickle.integers("labels"); }, ThrowsWith<UsageError>("has nothing under 'labels'"));
  EXPECT_THAT([&] { pickle.integers("k"); }, ThrowsWith<UsageError>("a list of integers"));
  EXPECT_THAT([&] { pickle.array("k"); }, ThrowsWith<UsageError>("an array of unsigned bytes"));
}

}  // namespace
}  // namespace lockstep::data
