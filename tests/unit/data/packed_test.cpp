#include <lockstep/data/packed.h>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "data/packed_view.h"
#include "packed_files.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::bytes_of;
using test::text_of;
using test::ThrowsWith;
using ::testing::ElementsAre;

class Packed : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder_.path() / "set.lsp"; }

  // Whether a reader who looks at everything finds nothing wrong, and what it finds is right.
  template <typename Set>
  static bool reads_as_written(const Set& set) {
    bool same = set.size() == 3 && set.classes() == test::kClasses;
    for (std::int64_t i = 0; same && i < set.size(); ++i) {
      const Picture picture = set.get(i);
      same = text_of(picture) == test::kTexts[static_cast<std::size_t>(i)] + std::to_string(i) &&
             picture.label == i % 2 && set.name(i) == "cat/" + std::to_string(i) + ".jpg";
    }
    set.check_rest();
    return same;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(Packed, GivesBackWhatWasPutIn) {
  const std::string pixels(2 * 3 * 3, 'p');
  {
    PackedWriter writer(path(), test::kClasses, test::digest("here"));
    writer.add({.bytes = bytes_of("encoded"), .label = 1}, "dog/1.jpg");
    writer.add(
        {.form = Picture::Form::kPixels, .bytes = bytes_of(pixels), .width = 2, .height = 3, .channels = 3, .label = 0},
        "cat/two\nlines.png");
    writer.finish();
  }
  const PackedSet set(path());
  ASSERT_EQ(set.size(), 2);
  EXPECT_THAT(set.classes(), ElementsAre("cat", "dog"));
  EXPECT_EQ(set.source(), test::digest("here"));
  EXPECT_EQ(set.bytes(), std::filesystem::file_size(path()));
  const Picture first = set.get(0), second = set.get(1);
  EXPECT_EQ(text_of(first), "encoded");
  EXPECT_EQ(first.form, Picture::Form::kEncoded);
  EXPECT_EQ(first.label, 1);
  EXPECT_EQ(text_of(second), pixels);
  EXPECT_EQ(second.form, Picture::Form::kPixels);
  EXPECT_EQ(std::vector({second.width, second.height, second.channels}), (std::vector{2, 3, 3}));
  EXPECT_EQ(set.name(1), "cat/two\\nlines.png");
  EXPECT_THROW(set.get(2), UsageError);
  EXPECT_THROW(set.get(-1), UsageError);
}

TEST_F(Packed, EverySingleFlippedByteIsFound) {
  test::write_packed(path());
  ASSERT_TRUE(reads_as_written(PackedSet(path())));
  const std::string good = test::content(path());
  ASSERT_TRUE(reads_as_written(PackedView(bytes_of(good), "good")));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    EXPECT_THROW(reads_as_written(PackedView(bytes_of(bad), "bad")), UsageError) << "byte " << i;
  }
}

TEST_F(Packed, TruncationIsFoundAtEveryLength) {
  test::write_packed(path());
  const std::string good = test::content(path());
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW(PackedView(bytes_of(good).first(length), "short"), PackedError) << length;
  }
  EXPECT_THAT([&] { PackedSet(folder_.write("short.lsp", good.substr(0, good.size() - 1))); },
              ThrowsWith<PackedError>("truncated"));
  EXPECT_THAT([&] { PackedSet(folder_.write("long.lsp", good + "x")); },
              ThrowsWith<PackedError>("longer than it should be"));
}

TEST_F(Packed, ADamagedSampleIsNamedAndTheOthersAreRead) {
  test::write_packed(path());
  std::string bad = test::content(path());
  bad[kPackedPage + 3] = '!';
  const PackedSet set(folder_.write("damaged.lsp", bad));
  EXPECT_THAT([&] { set.get(0); }, ThrowsWith<SampleError>("cat/0.jpg, is damaged"));
  EXPECT_THAT([&] { set.get(0); }, ThrowsWith<SampleError>("lockstep data verify"));
  EXPECT_EQ(text_of(set.get(2)), "third2");
}

TEST_F(Packed, ADamagedIndexIsAnErrorWithTheNextStep) {
  test::write_packed(path());
  std::string bad = test::content(path());
  PackedHeader header;
  std::memcpy(&header, bad.data(), sizeof(header));
  bad[header.index.offset] = 1;
  EXPECT_THAT([&] { PackedSet(folder_.write("damaged.lsp", bad)); }, ThrowsWith<PackedError>("its index is damaged"));
  EXPECT_THAT([&] { PackedSet(folder_.write("damaged.lsp", bad)); }, ThrowsWith<PackedError>("lockstep data verify"));
}

// With a checksum that fits, so that only the values are wrong.
class ForgedIndex : public Packed, public ::testing::WithParamInterface<void (*)(PackedEntry&)> {};

TEST_P(ForgedIndex, IsRefused) {
  test::write_packed(path());
  std::string file = test::content(path());
  PackedHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  PackedEntry entry;
  std::memcpy(&entry, file.data() + header.index.offset + sizeof(entry), sizeof(entry));
  GetParam()(entry);
  std::memcpy(file.data() + header.index.offset + sizeof(entry), &entry, sizeof(entry));
  header.index.checksum = crc32c(bytes_of(file).subspan(header.index.offset, header.index.bytes));
  const PackedHeaderPage page = header_page(header);
  std::memcpy(file.data(), page.data(), page.size());
  EXPECT_THAT([&] { PackedSet(folder_.write("forged.lsp", file)); }, ThrowsWith<PackedError>("makes no sense"));
}

INSTANTIATE_TEST_SUITE_P(Values, ForgedIndex,
                         ::testing::Values([](PackedEntry& entry) { entry.offset = ~std::uint64_t{0} - 4; },
                                           [](PackedEntry& entry) { entry.offset -= 1; },
                                           [](PackedEntry& entry) { entry.bytes = 0xffffffff; },
                                           [](PackedEntry& entry) { entry.label = 2; },
                                           [](PackedEntry& entry) { entry.form = 7; },
                                           [](PackedEntry& entry) { entry.form = kPackedPixels; },
                                           [](PackedEntry& entry) { entry.width = 1; }));

TEST_F(Packed, AnEmptyFileAndAnotherFileAreRefused) {
  EXPECT_THROW(PackedSet(folder_.write("empty.lsp", "")), PackedError);
  EXPECT_THAT([&] { PackedSet(folder_.write("page.lsp", std::string(9000, '<'))); },
              ThrowsWith<PackedError>("does not begin as one"));
  EXPECT_THAT([&] { PackedSet(folder_.path() / "absent.lsp"); }, ThrowsWith<UsageError>("No such file"));
  EXPECT_THAT([&] { PackedSet(folder_.path().string()); }, ThrowsWith<UsageError>("is not a regular file"));
}

TEST_F(Packed, TwoProcessesReadAtOnce) {
  test::write_packed(path());
  const PackedSet mine(path());
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = true;
    for (int round = 0; round < 200; ++round) good = good && reads_as_written(PackedSet(path()));
    ::_exit(good ? 0 : 1);
  }
  for (int round = 0; round < 200; ++round) {
    for (std::int64_t i = 0; i < mine.size(); ++i) EXPECT_FALSE(text_of(mine.get(i)).empty());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Packed, AFileThatIsReplacedStaysWholeForThoseWhoHaveItOpen) {
  test::write_packed(path());
  const PackedSet before(path());
  {
    PackedWriter writer(path(), test::kClasses, test::digest("other"), {.replace = true});
    writer.add({.bytes = bytes_of("new"), .label = 0}, "cat/new.jpg");
    writer.finish();
  }
  EXPECT_EQ(text_of(before.get(2)), "third2");
  EXPECT_EQ(PackedSet(path()).size(), 1);
}

TEST_F(Packed, AFileThatBecomesShorterIsAnErrorAndNoCrash) {
  test::write_packed(path());
  const PackedSet set(path());
  std::filesystem::resize_file(path(), 100);
  EXPECT_THAT([&] { set.get(0); }, ThrowsWith<PackedError>("become shorter"));
}

}  // namespace
}  // namespace lockstep::data
