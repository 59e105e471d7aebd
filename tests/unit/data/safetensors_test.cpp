#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "data/tensor_formats.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::ThrowsWith;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string file(const std::string& header, const std::string& data) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length + header + data;
}

auto parsing(const std::string& header, const std::string& data = "") {
  return [content = file(header, data)] { return parse_safetensors(std::as_bytes(std::span(content)), "file"); };
}

const std::string kTwo = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},)"
                         R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}   )";

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirBytes) {
  const std::string content = file(kTwo, "01234567xy");
  const auto parsed = parse_safetensors(std::as_bytes(std::span(content)), "file");
  ASSERT_EQ(parsed.tensors.size(), 2);
  EXPECT_EQ(parsed.tensors[0].name, "a");
  EXPECT_EQ(parsed.tensors[0].type, ElementType::kFloat32);
  EXPECT_THAT(parsed.tensors[0].shape, ElementsAre(1, 2));
  EXPECT_EQ(parsed.tensors[1].name, "b");
  EXPECT_THAT(parsed.tensors[1].shape, IsEmpty());
  EXPECT_THAT(parsed.tensors[1].bytes, ElementsAre(std::byte{'x'}, std::byte{'y'}));
  EXPECT_EQ(parsed.metadata.at("format"), "pt");
  EXPECT_THAT(parsing("{}")().tensors, IsEmpty());
}

TEST(Safetensors, TensorsWithoutBytesAreTensors) {
  const auto parsed = parsing(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                              R"("e":{"dtype":"I64","shape":[0,7],"data_offsets":[0,0]}})",
                              "ab")();
  EXPECT_EQ(parsed.tensors.size(), 2);
}

TEST(Safetensors, IsFoundByName) {
  const test::TemporaryFolder folder;
  const SafetensorsFile tensors(folder.write("a.safetensors", file(kTwo, "01234567xy")));
  EXPECT_EQ(tensors.at("b").bytes.size(), 2);
  EXPECT_EQ(tensors.tensors().size(), 2);
  EXPECT_EQ(tensors.metadata().size(), 1);
  EXPECT_THAT([&] { tensors.at("B"); }, ThrowsWith<UsageError>("has no tensor 'B'"));
  EXPECT_THROW(SafetensorsFile(folder.path() / "none"), UsageError);
  EXPECT_THROW(SafetensorsFile(folder.write("empty", "")), UsageError);
}

std::string tensor(const std::string& rest) {
  return R"({"a":{)" + rest + "}}";
}

TEST(Safetensors, RefusesAHeaderThatIsNotOne) {
  EXPECT_THAT(parsing(""), ThrowsWith<UsageError>("no JSON object"));
  EXPECT_THAT(parsing("[]"), ThrowsWith<UsageError>("no JSON object"));
  EXPECT_THAT(parsing("{\"a\":"), ThrowsWith<UsageError>("no JSON at byte"));
  EXPECT_THAT(parsing("{}x"), ThrowsWith<UsageError>("no JSON at byte"));
  EXPECT_THAT(parsing(R"({"a":3})"), ThrowsWith<UsageError>("a number at 'a'"));
  EXPECT_THAT(parsing(R"({"a":"F32"})"), ThrowsWith<UsageError>("a string at 'a'"));
  EXPECT_THAT(parsing(R"({"__metadata__":{"a":3}})"), ThrowsWith<UsageError>("a number"));
  EXPECT_THAT(parsing(R"({"__metadata__":{"a":{}}})"), ThrowsWith<UsageError>("an object"));
  EXPECT_THAT(parsing(R"({"__metadata__":{"a":"1","a":"2"}})"), ThrowsWith<UsageError>("a key twice"));
  EXPECT_THAT(parsing(tensor(R"("dtype":"U8","shape":[[1]])")), ThrowsWith<UsageError>("a list at 'shape'"));
  EXPECT_THAT(parsing(tensor(R"("dtype":"U8","shape":[-1])")), ThrowsWith<UsageError>("a negative number"));
  EXPECT_THAT(parsing(tensor(R"("dtype":"U8","shape":[1.5])")), ThrowsWith<UsageError>("a fraction"));
  EXPECT_THAT(parsing(tensor(R"("dtype":"U8","size":[1])")), ThrowsWith<UsageError>("an unknown key"));
  EXPECT_THAT(parsing(tensor(R"("dtype":"U8","dtype":"U8")")), ThrowsWith<UsageError>("one twice"));
  EXPECT_THAT(parsing(tensor(R"("dtype":null)")), ThrowsWith<UsageError>("null"));
  // Brackets enough to overflow the stack of a parser that is recursive.
  EXPECT_THAT(parsing("{\"a\":" + std::string(1'000'000, '[')), ThrowsWith<UsageError>("a list at 'a'"));
}

TEST(Safetensors, RefusesANameTwice) {
  const std::string one = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_THAT(parsing("{" + one + "," + one + "}", "x"), ThrowsWith<UsageError>("a name twice"));
}

TEST(Safetensors, RefusesTensorsThatDoNotFitTheFile) {
  const auto with = [](const std::string& type, const std::string& shape, const std::string& offsets) {
    return tensor(R"("dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets);
  };
  EXPECT_THAT(parsing(with("F4", "[2]", "[0,1]"), "x"), ThrowsWith<UsageError>("dtype 'F4'"));
  EXPECT_THAT(parsing(with("U8", "[2]", "[0,2]"), "x"), ThrowsWith<UsageError>("data_offsets [0, 2]"));
  EXPECT_THAT(parsing(with("U8", "[1]", "[1,0]"), "x"), ThrowsWith<UsageError>("data_offsets [1, 0]"));
  EXPECT_THAT(parsing(with("U8", "[1]", "[0]"), "x"), ThrowsWith<UsageError>("data_offsets [0]"));
  EXPECT_THAT(parsing(with("F32", "[1]", "[0,1]"), "x"), ThrowsWith<UsageError>("1 bytes for F32 [1]"));
  EXPECT_THAT(parsing(with("F32", "[4611686018427387904,4611686018427387904]", "[0,0]")),
              ThrowsWith<UsageError>("fits in memory"));
  EXPECT_THAT(parsing(with("U8", "[1]", "[0,18446744073709551615]"), "x"), ThrowsWith<UsageError>("a huge number"));
  EXPECT_THAT(parsing(tensor(R"("dtype":"U8","shape":[1])"), "x"), ThrowsWith<UsageError>("a part is missing"));
}

TEST(Safetensors, RefusesGapsOverlapsAndWhatBelongsToNone) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}";
  };
  EXPECT_THAT(parsing(two("[0,2]", "[1,3]"), "xyz"), ThrowsWith<UsageError>("a gap or an overlap before tensor 'b'"));
  EXPECT_THAT(parsing(two("[0,2]", "[3,5]"), "vwxyz"), ThrowsWith<UsageError>("a gap or an overlap"));
  EXPECT_THAT(parsing(two("[0,2]", "[0,2]"), "xy"), ThrowsWith<UsageError>("a gap or an overlap"));
  EXPECT_THAT(parsing(two("[0,2]", "[2,4]"), "vwxyz"), ThrowsWith<UsageError>("belong to no tensor"));
}

TEST(Safetensors, FindsTruncationAtEveryLength) {
  const std::string whole = file(kTwo, "01234567xy");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(parse_safetensors(std::as_bytes(std::span(whole)).first(length), "file"), UsageError) << length;
  }
}

TEST(Safetensors, RefusesALongHeaderBeforeItReadsIt) {
  const std::string content = "\xff\xff\xff\xff\xff\xff\xff\xff{}";
  EXPECT_THAT([&] { parse_safetensors(std::as_bytes(std::span(content)), "file"); },
              ThrowsWith<UsageError>("at most 100000000"));
}

}  // namespace
}  // namespace lockstep::data
