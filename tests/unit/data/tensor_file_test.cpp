// Tensors in .npy and raw files.
#include <lockstep/data/tensor_file.h>

#include <cstring>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "data/tensor_formats.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using namespace std::string_literals;
using test::ThrowsWith;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string length(version == 1 ? 2 : 4, '\0');
  length[0] = static_cast<char>(header.size() & 0xff);
  length[1] = static_cast<char>(header.size() >> 8);
  return "\x93NUMPY"s + version + '\0' + length + header + data;
}

auto parsing(const std::string& content) {
  return [content] { return parse_npy(std::as_bytes(std::span(content)), "file.npy"); };
}

std::string floats(std::initializer_list<float> values) {
  std::string bytes(4 * values.size(), '\0');
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n";

TEST(Npy, ReadsAllVersions) {
  for (const char version : {'\1', '\2', '\3'}) {
    const std::string content = npy(kHeader, floats({1, 2, 3, 4, 5, 6}), version);
    const TensorBytes tensor = parse_npy(std::as_bytes(std::span(content)), "file.npy");
    EXPECT_EQ(tensor.type, ElementType::kFloat32);
    EXPECT_THAT(tensor.shape, ElementsAre(2, 3));
    float last = 0;
    std::memcpy(&last, tensor.bytes.data() + 20, sizeof last);
    EXPECT_EQ(last, 6);
  }
  EXPECT_THAT(parsing(npy("{'shape': (), 'fortran_order': False, 'descr': '|u1'}", "x"))().shape, IsEmpty());
  EXPECT_THAT(parsing(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 5), }", ""))().bytes, IsEmpty());
  EXPECT_THAT(parsing(npy("{'descr':'|b1','fortran_order':False,'shape':(3,)}", "abc"))().shape, ElementsAre(3));
}

TEST(Npy, RefusesWhatItCannotRead) {
  const auto with = [](const std::string& type, const std::string& order = "False", const std::string& shape = "(1,)") {
    return npy("{'descr': " + type + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }", "12345678");
  };
  EXPECT_THAT(parsing(with("'|O'")), ThrowsWith<UsageError>("|O"));
  EXPECT_THAT(parsing(with("'>f8'")), ThrowsWith<UsageError>("little-endian"));
  EXPECT_THAT(parsing(with("'<U2'")), ThrowsWith<UsageError>("type that is not read"));
  EXPECT_THAT(parsing(with("[('a', '<f8')]")), ThrowsWith<UsageError>("records"));
  EXPECT_THAT(parsing(with("'<f8'", "True")), ThrowsWith<UsageError>("Fortran"));
  for (const char* shape : {"(-1,)", "(1", "1", "(1;2)", "(99999999999999999999,)", "(1 2)"}) {
    EXPECT_THAT(parsing(with("'<f8'", "False", shape)), ThrowsWith<UsageError>("not numpy's")) << shape;
  }
  EXPECT_THAT(parsing(with("'<f8'", "False", "(4611686018427387904, 4)")), ThrowsWith<UsageError>("fits in memory"));
  EXPECT_THAT(parsing(with("'<f8'", "False", "(2,)")), ThrowsWith<UsageError>("truncated, or longer"));
  EXPECT_THAT(parsing(npy("{'descr': '<f8', 'fortran_order': False}", "")), ThrowsWith<UsageError>("not numpy's"));
  EXPECT_THAT(parsing(npy("{'os': 'system'}", "")), ThrowsWith<UsageError>("does not belong there"));
  EXPECT_THAT(parsing(npy("{'descr': '|u1', 'descr': '|u1'}", "")), ThrowsWith<UsageError>("does not belong there"));
  EXPECT_THAT(parsing(npy(kHeader, "", 4)), ThrowsWith<UsageError>("4.0"));
  EXPECT_THAT(parsing(npy(std::string(10'001, ' '), "")), ThrowsWith<UsageError>("too long a header"));
  EXPECT_THAT(parsing("<!DOCTYPE html>"), ThrowsWith<UsageError>("no .npy file"));
}

TEST(Npy, FindsTruncationAtEveryLength) {
  const std::string whole = npy(kHeader, floats({1, 2, 3, 4, 5, 6}));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(parsing(whole.substr(0, length)), ::testing::Throws<UsageError>()) << length;
  }
  EXPECT_THAT(parsing(whole + "x"), ThrowsWith<UsageError>("longer than it says"));
}

TEST(Npy, KeepsItsBytesAfterItsFileIsGone) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("a.npy", npy(kHeader, floats({1, 2, 3, 4, 5, 6})));
  const TensorFile file = open_npy(path);
  std::filesystem::remove(path);
  EXPECT_EQ(file.tensor.bytes.size(), 24);
  EXPECT_EQ(file.tensor.bytes[23], std::byte{0x40});
  EXPECT_THROW(open_npy(path), UsageError);
  EXPECT_THROW(open_npy(folder.path()), UsageError);
  EXPECT_THROW(open_npy("/dev/zero"), UsageError);
}

TEST(RawTensor, HasExactlyTheBytesOfItsShape) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("a.bin", std::string(24, 'x'));
  EXPECT_THAT(open_raw_tensor(path, ElementType::kInt16, {3, 4}).tensor.shape, ElementsAre(3, 4));
  EXPECT_THAT([&] { open_raw_tensor(path, ElementType::kFloat32, {3, 4}); }, ThrowsWith<UsageError>("48 bytes"));
  EXPECT_THAT([&] { open_raw_tensor(path, ElementType::kFloat32, {-1}); }, ThrowsWith<UsageError>("24 bytes"));
  const auto empty = folder.write("empty.bin", "");
  EXPECT_THAT(open_raw_tensor(empty, ElementType::kUint8, {0}).tensor.bytes, IsEmpty());
}

TEST(ElementType, HasOneNameInEachFormat) {
  EXPECT_EQ(find_element_type("bfloat16"), ElementType::kBfloat16);
  EXPECT_EQ(find_safetensors_type("BF16"), ElementType::kBfloat16);
  EXPECT_EQ(find_npy_type("<f2"), ElementType::kFloat16);
  EXPECT_EQ(find_npy_type(""), std::nullopt);
  EXPECT_EQ(element_name(ElementType::kComplex64), "complex64");
  EXPECT_EQ(element_size(ElementType::kFloat8E5M2), 1);
  EXPECT_EQ(element_size(ElementType::kComplex64), 8);
}

}  // namespace
}  // namespace lockstep::data
