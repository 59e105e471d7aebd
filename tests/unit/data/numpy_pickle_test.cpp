#include "data/numpy_pickle.h"

#include <gmock/gmock.h>

#include "throws_with.h"

namespace lockstep::data {
namespace {

using namespace std::string_literals;
using test::ThrowsWith;
using ::testing::ElementsAre;

// {'k': VALUE}
std::string dictionary(const std::string& value) {
  return "\x80\x02}U\x01k"s + value + "s.";
}

NumpyPickle read(const std::string& program) {
  return {std::as_bytes(std::span(program)), "file"};
}

TEST(NumpyPickle, ReadsListsOfNumbersAndStrings) {
  const std::string numbers = dictionary("](K\x07M\x2c\x01J\xfe\xff\xff\xff\x65"s);
  EXPECT_THAT(read(numbers).integers("k"), ElementsAre(7, 300, -2));
  const std::string strings = dictionary("](U\x01\x61X\x01\0\0\0b\x8c\x01\x63q\x05h\x05\x65"s);
  EXPECT_THAT(read(strings).strings("k"), ElementsAre("a", "b", "c", "c"));
}

TEST(NumpyPickle, RefusesArraysOfOtherTypes) {
  const auto program = [](const std::string& type) {
    return dictionary("cnumpy.core.numeric\n_frombuffer\n(U\x02xxcnumpy\ndtype\nU\x02" + type +
                      "\x85RK\x02\x85U\x01\x43tR"s);
  };
  const std::string bytes = program("u1"), objects = program("O8");
  EXPECT_THAT(read(bytes).array("k").sizes, ElementsAre(2));
  EXPECT_THAT([&] { read(objects).array("k"); }, ThrowsWith<UsageError>("an array of unsigned bytes"));
}

TEST(NumpyPickle, RefusesWhatIsNoDictionary) {
  EXPECT_THAT([] { read("\x80\x02N."); }, ThrowsWith<UsageError>("holds no dictionary"));
}

TEST(NumpyPickle, IsNotHurtByAListThatHoldsItself) {
  const std::string program = dictionary(
      "]q\x01h\x01"
      "a");
  EXPECT_THAT([&] { read(program).integers("k"); }, ThrowsWith<UsageError>("another kind"));
}

TEST(NumpyPickle, SaysWhatIsNotUnderAKey) {
  const std::string program = dictionary("K\x01");
  EXPECT_THAT([&] { read(program).integers("labels"); }, ThrowsWith<UsageError>("has nothing under 'labels'"));
  EXPECT_THAT([&] { read(program).integers("k"); }, ThrowsWith<UsageError>("a list of integers"));
  EXPECT_THAT([&] { read(program).array("k"); }, ThrowsWith<UsageError>("an array of unsigned bytes"));
}

}  // namespace
}  // namespace lockstep::data
