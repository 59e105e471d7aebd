// Files that PyTorch has written (tests/data/make_torch.py), and forged ones.
#include <lockstep/checkpoint/torch_file.h>

#include <fstream>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "checkpoint/zip_writer.h"
#include "float_tensors.h"
#include "source_path.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::checkpoint {
namespace {

using namespace std::string_literals;
using data::ElementType;
using test::floats_of;
using test::ThrowsWith;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::filesystem::path made(const std::string& name) {
  return test::source_path("tests/data/torch") / name;
}

const data::TensorBytes& tensor(const TorchState& state, const std::string& name) {
  for (const data::TensorFile& file : state.tensors) {
    if (file.tensor.name == name) return file.tensor;
  }
  throw std::runtime_error("there is no " + name);
}

std::vector<std::string> names(const TorchState& state) {
  std::vector<std::string> result;
  for (const data::TensorFile& file : state.tensors) result.push_back(file.tensor.name);
  return result;
}

TEST(TorchFile, ReadsEveryTypeThatPyTorchWrites) {
  const TorchState state = read_torch_file(made("types.pt"));
  ASSERT_EQ(state.tensors.size(), 16);
  for (const data::TensorFile& file : state.tensors) {
    EXPECT_EQ(element_name(file.tensor.type), file.tensor.name);
    EXPECT_EQ(file.tensor.bytes.size(), 2 * element_size(file.tensor.type)) << file.tensor.name;
  }
  // Two elements, 0 and 1, of which only the second has bits.
  EXPECT_THAT(floats_of(tensor(state, "float32")), ElementsAre(0, 1));
  EXPECT_THAT(tensor(state, "bfloat16").bytes, ElementsAre(std::byte{}, std::byte{}, std::byte{0x80}, std::byte{0x3f}));
  EXPECT_THAT(tensor(state, "uint16").bytes, ElementsAre(std::byte{}, std::byte{}, std::byte{1}, std::byte{}));
  EXPECT_THAT(tensor(state, "float8_e4m3fn").bytes, ElementsAre(std::byte{}, std::byte{0x38}));
}

TEST(TorchFile, BringsEveryLayoutIntoPlainOrder) {
  const TorchState state = read_torch_file(made("layouts.pt"));
  const auto floats = [&](const std::string& name) { return floats_of(tensor(state, name)); };
  const auto shape = [&](const std::string& name) { return tensor(state, name).shape; };
  EXPECT_THAT(floats("scalar"), ElementsAre(3.5));
  EXPECT_THAT(shape("scalar"), IsEmpty());
  EXPECT_THAT(shape("empty"), ElementsAre(0, 3));
  EXPECT_THAT(floats("empty"), IsEmpty());
  const std::vector<float> expected = [] {
    std::vector<float> values(24);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return values;
  }();
  EXPECT_EQ(floats("channels_last"), expected);
  EXPECT_THAT(shape("channels_last"), ElementsAre(2, 3, 2, 2));
  EXPECT_THAT(floats("transposed"), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(floats("row"), ElementsAre(6, 7, 8));
  EXPECT_THAT(floats("column"), ElementsAre(1, 4, 7, 10));
  EXPECT_EQ(floats("whole"), std::vector<float>(expected.begin(), expected.begin() + 12));
  EXPECT_THAT(floats("expanded"), ElementsAre(7, 7, 7, 7, 7, 7));
  EXPECT_THAT(floats("parameter"), ElementsAre(0, 1));
}

TEST(TorchFile, FindsTheStateDictOfACheckpoint_AndTakesItsWrapperAway) {
  const TorchState state = read_torch_file(made("model_best.pth.tar"));
  EXPECT_EQ(state.key, "state_dict");
  EXPECT_TRUE(state.unwrapped);
  EXPECT_THAT(names(state), ElementsAre("weight", "bias"));
  EXPECT_THAT(floats_of(tensor(state, "weight")), ElementsAre(0, 1));
  EXPECT_THAT(floats_of(tensor(state, "bias")), ElementsAre(5));
  EXPECT_THAT(state.left_out, IsEmpty());
}

TEST(TorchFile, TakesAnotherDictionaryByItsKey) {
  const TorchState state = read_torch_file(made("model_best.pth.tar"), "ema");
  EXPECT_THAT(floats_of(tensor(state, "bias")), ElementsAre(6));
  EXPECT_THAT(state.left_out, ElementsAre("steps"));
  EXPECT_THAT([] { read_torch_file(made("model_best.pth.tar"), "emma"); },
              ThrowsWith<UsageError>("did you mean 'ema'?"));
  EXPECT_THAT([] { read_torch_file(made("model_best.pth.tar"), "optimizer/state"); },
              ThrowsWith<UsageError>("has no tensors under 'optimizer/state'"));
  EXPECT_THAT([] { read_torch_file(made("model_best.pth.tar"), "epoch/x"); }, ThrowsWith<UsageError>("under 'x'"));
  EXPECT_THAT([] { read_torch_file(made("two.pt")); }, ThrowsWith<UsageError>("more than one dictionary of tensors"));
}

TEST(TorchFile, ReadsANewerProtocol) {
  EXPECT_THAT(floats_of(read_torch_file(made("protocol4.pt")).tensors.at(0).tensor), ElementsAre(0, 1));
}

TEST(TorchFile, RefusesWhatWouldRunSomething) {
  EXPECT_THAT([] { read_torch_file(made("runs_it.pt")); }, ThrowsWith<UsageError>("system'"));
  EXPECT_THAT([] { read_torch_file(made("runs_it.pt")); }, ThrowsWith<UsageError>("would run"));
  EXPECT_FALSE(std::filesystem::exists("ran-it"));
}

TEST(TorchFile, RefusesOtherFormatsInWords) {
  EXPECT_THAT([] { read_torch_file(made("legacy.pt")); }, ThrowsWith<UsageError>("before 1.6"));
  EXPECT_THAT([] { read_torch_file(made("script.pt")); }, ThrowsWith<UsageError>("TorchScript"));
  const test::TemporaryFolder folder;
  EXPECT_THAT([&] { read_torch_file(folder.write("a.pt", "hello")); }, ThrowsWith<UsageError>("no file of PyTorch's"));
  EXPECT_THAT([&] { read_torch_file(folder.path() / "b.pt"); }, ThrowsWith<UsageError>("No such file"));
}

TEST(TorchFile, FindsEveryTruncation) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "a.pt";
  std::filesystem::copy_file(made("protocol4.pt"), path);
  for (auto length = std::filesystem::file_size(path); length-- > 0;) {
    std::filesystem::resize_file(path, length);
    EXPECT_THROW(read_torch_file(path), UsageError) << length;
  }
}

// A copy of a file whose bits are flipped one at a time, where they are: a file for each would take a minute.
class FlippedTorchFile : public ::testing::Test {
 protected:
  FlippedTorchFile() {
    std::filesystem::copy_file(made("protocol4.pt"), path_);
    file_.open(path_, std::ios::in | std::ios::out | std::ios::binary);
  }

  template <typename Check>
  void with_flipped(std::size_t bit, Check&& check) {
    flip(bit);
    check();
    flip(bit);
  }

  const test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "a.pt";
  const std::string whole_ = test::content(made("protocol4.pt"));

 private:
  void flip(std::size_t bit) {
    const auto at = static_cast<std::streamoff>(bit / 8);
    file_.seekg(at);
    const int byte = file_.get() ^ 1 << bit % 8;
    file_.seekp(at);
    file_.put(static_cast<char>(byte)).flush();
  }

  std::fstream file_;
};

TEST_F(FlippedTorchFile, ABitOfATensorIsFoundWithTheTensorsName) {
  const std::size_t start = whole_.find("\0\0\0\0\0\0\x80\x3f"s);
  ASSERT_NE(start, std::string::npos);
  for (std::size_t bit = 8 * start; bit < 8 * (start + 8); ++bit) {
    with_flipped(bit, [&] {
      EXPECT_THAT([&] { read_torch_file(path_); }, ThrowsWith<UsageError>("damaged tensor 'a'"));
      EXPECT_THAT([&] { verify_torch_file(path_); }, ThrowsWith<UsageError>("damaged tensor 'a'"));
    });
  }
  EXPECT_TRUE(verify_torch_file(path_));
}

TEST_F(FlippedTorchFile, AnyBitIsFoundOrHarmless) {
  std::size_t found = 0;
  for (std::size_t bit = 0; bit < 8 * whole_.size(); ++bit) {
    with_flipped(bit, [&] {
      try {
        EXPECT_THAT(floats_of(read_torch_file(path_).tensors.at(0).tensor), ElementsAre(0, 1)) << bit;
      } catch (const UsageError&) {
        ++found;
      }
    });
  }
  EXPECT_GT(found, 8 * 157);  // all of its pickle, at least
}

// A file with one pickle and one storage of 6 floats, as a forger would write it: with checksums that are right.
class ForgedTorchFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& program) const {
    const auto path = folder_.path() / "a.pt";
    std::filesystem::remove(path);
    OutputFile file(path);
    ZipWriter archive(file);
    archive.add("archive/data.pkl", program);
    archive.add("archive/data/0", std::string(24, '\0'));
    archive.finish();
    file.finish();
    return path;
  }

  // {'k': a tensor}
  std::filesystem::path write_tensor(const std::string& offset, const std::string& sizes, const std::string& strides,
                                     const std::string& elements = "K\x06",
                                     const std::string& storage = "ctorch\nFloatStorage\nU\x01\x30") const {
    return write("\x80\x02}U\x01kctorch._utils\n_rebuild_tensor_v2\n((U\x07storage" + storage + "U\x03" + "cpu" +
                 elements + "tQ" + offset + "(" + sizes + "t(" + strides + "t\x89NtRs.");
  }

  const test::TemporaryFolder folder_;
};

TEST_F(ForgedTorchFile, ATensorMayNotReachOutOfItsStorage) {
  EXPECT_EQ(read_torch_file(write_tensor("K\0"s, "K\x02K\x03", "K\x03K\x01")).tensors.at(0).tensor.bytes.size(), 24);
  for (const auto& path : {
           write_tensor("K\x01", "K\x02K\x03", "K\x03K\x01"),
           write_tensor("K\0"s, "K\x02K\x03", "K\x04K\x01"),
       }) {
    EXPECT_THAT([&] { read_torch_file(path); }, ThrowsWith<UsageError>("describes tensor 'k' wrongly"));
  }
  EXPECT_THAT([&] { read_torch_file(write_tensor("K\0"s, "K\x02", "J\xff\xff\xff\xff")); },
              ThrowsWith<UsageError>("a size of 0 or more"));
  EXPECT_THAT([&] { read_torch_file(write_tensor("K\0"s, "K\x02", "")); }, ThrowsWith<UsageError>("0 strides"));
  const std::string huge = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x3f";
  EXPECT_THAT([&] { read_torch_file(write_tensor("K\0"s, huge, "K\x01")); }, ThrowsWith<UsageError>("fits in memory"));
  EXPECT_THAT([&] { read_torch_file(write_tensor("K\0"s, "K\x05", huge)); }, ThrowsWith<UsageError>("beyond all"));
  EXPECT_THAT([&] { read_torch_file(write_tensor("K\0"s, "K\x07", "K\x01", "K\x07")); },
              ThrowsWith<UsageError>("a storage of 7 elements"));
  EXPECT_THAT(
      [&] { read_torch_file(write_tensor("K\0"s, "K\x01", "K\x01", "K\x06", "ctorch\nFloatStorage\nU\x01\x31")); },
      ThrowsWith<UsageError>("lacks tensor 'k'"));
  EXPECT_THAT(
      [&] {
        read_torch_file(write_tensor("K\0"s, "K\x01", "K\x01", "K\x03", "ctorch\nComplexDoubleStorage\nU\x01\x30"));
      },
      ThrowsWith<UsageError>("torch.ComplexDoubleStorage"));
}

TEST_F(ForgedTorchFile, TheStrideOfASingleElementIsNeverTaken) {
  const std::string longest = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f";
  const auto path = write_tensor("K\0"s, "K\x01K\x02K\x03", longest + "K\x01K\x02");
  EXPECT_EQ(floats_of(read_torch_file(path).tensors.at(0).tensor), std::vector<float>(6, 0));
}

TEST_F(ForgedTorchFile, VerifyFindsAllThatReadingFinds) {
  EXPECT_TRUE(verify_torch_file(write_tensor("K\0"s, "K\x06", "K\x01")));
  EXPECT_THAT([&] { verify_torch_file(write_tensor("K\0"s, "K\x07", "K\x01")); },
              ThrowsWith<UsageError>("an element 6 of its storage\n  expected: one below 6"));
  EXPECT_THAT([&] { verify_torch_file(write_tensor("K\0"s, "K\x07", "K\x01", "K\x07")); },
              ThrowsWith<UsageError>("a storage of 7 elements"));
  EXPECT_THAT(
      [&] { verify_torch_file(write_tensor("K\0"s, "K\x01", "K\x01", "K\x06", "ctorch\nFloatStorage\nU\x01\x31")); },
      ThrowsWith<UsageError>("lacks tensor 'k'"));
}

TEST_F(ForgedTorchFile, TwoPicklesAreOneTooMany) {
  const auto path = folder_.path() / "two.pt";
  OutputFile file(path);
  ZipWriter archive(file);
  archive.add("a/data.pkl", "\x80\x02N.");
  archive.add("b/data.pkl", "\x80\x02N.");
  archive.finish();
  file.finish();
  EXPECT_THAT([&] { read_torch_file(path); }, ThrowsWith<UsageError>("a/data.pkl and b/data.pkl"));
}

TEST_F(ForgedTorchFile, AnElementRepeatedForEverTakesNoMemory) {
  const auto path = write_tensor("K\0"s, "J\xff\xff\xff\x7f", "K\0"s);
  EXPECT_THAT([&] { read_torch_file(path); }, ThrowsWith<UsageError>("claims far more than it holds"));
}

TEST_F(ForgedTorchFile, WhatHoldsNoTensorsIsRefusedWithItsKeys) {
  EXPECT_THAT([&] { read_torch_file(write("\x80\x02N.")); },
              ThrowsWith<UsageError>("no weights where they usually are"));
  EXPECT_THAT([&] { read_torch_file(write("\x80\x02}U\x05modelK\x01s.")); }, ThrowsWith<UsageError>("the keys model"));
  EXPECT_THAT([&] { read_torch_file(write("\x80\x02}U\x01kctorch._utils\n_rebuild_parameter\n)Rs.")); },
              ThrowsWith<UsageError>("too few arguments"));
  EXPECT_THAT([&] { read_torch_file(write("\x80\x02}U\x01kctorch._utils\n_rebuild_parameter\nN\x85Rs.")); },
              ThrowsWith<UsageError>("a parameter without a tensor"));
}

TEST(TorchWriter, WhatIsWrittenIsRead) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "a.pt";
  std::vector<data::TensorBytes> tensors;
  const std::string bytes(48, '\x3c');
  for (int i = 0; i <= static_cast<int>(ElementType::kComplex64); ++i) {
    const auto type = static_cast<ElementType>(i);
    tensors.push_back({.name = std::string(element_name(type)),
                       .type = type,
                       .shape = {2, 3},
                       .bytes = std::as_bytes(std::span(bytes)).first(6 * element_size(type))});
  }
  tensors.push_back({.name = "empty", .type = ElementType::kFloat32, .shape = {0, 5}, .bytes = {}});
  tensors.push_back({.name = "scalar ü",
                     .type = ElementType::kInt64,
                     .shape = {},
                     .bytes = std::as_bytes(std::span(bytes)).first(8)});
  write_torch_file(path, tensors);
  EXPECT_TRUE(verify_torch_file(path));
  const TorchState state = read_torch_file(path);
  ASSERT_EQ(state.tensors.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const data::TensorBytes& found = state.tensors[i].tensor;
    EXPECT_EQ(found.name, tensors[i].name);
    EXPECT_EQ(found.type, tensors[i].type);
    EXPECT_EQ(found.shape, tensors[i].shape);
    EXPECT_TRUE(std::equal(found.bytes.begin(), found.bytes.end(), tensors[i].bytes.begin(), tensors[i].bytes.end()));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(found.bytes.data()) % (found.bytes.empty() ? 1 : 64), 0) << found.name;
  }
}

TEST(TorchWriter, RefusesWhatNoFileHolds) {
  const test::TemporaryFolder folder;
  const std::vector<float> values = {1, 2};
  const auto writing = [&](const std::vector<data::TensorBytes>& tensors) {
    return [&folder, tensors] { write_torch_file(folder.path() / "a.pt", tensors); };
  };
  data::TensorBytes good = test::float_tensor("a", values), wrong = good;
  EXPECT_THAT(writing({good, good}), ThrowsWith<UsageError>("two tensors 'a'"));
  wrong.shape = {3};
  EXPECT_THAT(writing({wrong}), ThrowsWith<UsageError>("8 bytes for float32 [3]"));
  wrong = good;
  wrong.name = "\xff";
  EXPECT_THAT(writing({wrong}), ThrowsWith<UsageError>("not UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a.pt"));
}

}  // namespace
}  // namespace lockstep::checkpoint
