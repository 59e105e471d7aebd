#include <lockstep/data/csv.h>

#include <clocale>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::ThrowsWith;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

auto parsing(const std::string& content, const CsvOptions& options = {}) {
  return [=] { return parse_csv(content, "file.csv", options); };
}

TEST(Csv, ReadsNumbersWithAndWithoutAHeader) {
  const CsvTable plain = parsing("1,2.5\n-3e2,.25\n")();
  EXPECT_EQ(plain.rows, 2);
  EXPECT_EQ(plain.width, 2);
  EXPECT_THAT(plain.values, ElementsAre(1, 2.5F, -300, .25F));
  EXPECT_THAT(plain.columns, IsEmpty());
  EXPECT_THAT(plain.labels, IsEmpty());
  const CsvTable named = parsing("\xef\xbb\xbfx,y\r\n1, 2 \r\n\r\n3,4")();
  EXPECT_THAT(named.columns, ElementsAre("x", "y"));
  EXPECT_THAT(named.values, ElementsAre(1, 2, 3, 4));
}

TEST(Csv, TakesLabelsByNameOrPlace) {
  const CsvTable by_name = parsing("x,species,y\n1,7,2\n3,-8,4\n", {.label = "species"})();
  EXPECT_THAT(by_name.labels, ElementsAre(7, -8));
  EXPECT_THAT(by_name.values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(by_name.columns, ElementsAre("x", "y"));
  const CsvTable by_place = parsing("5;1\n6;2\n", {.label = "0", .separator = ';'})();
  EXPECT_THAT(by_place.labels, ElementsAre(5, 6));
  EXPECT_THAT(by_place.values, ElementsAre(1, 2));
  EXPECT_THAT(parsing("x,species\n1,2\n", {.label = "specis"}), ThrowsWith<UsageError>("did you mean 'species'?"));
  EXPECT_THAT(parsing("1,2\n", {.label = "2"}), ThrowsWith<UsageError>("0 to 1"));
}

TEST(Csv, UnderstandsQuotes) {
  const CsvTable table = parsing("\"a \"\"b\"\", c\",d\n\"1\" ,\"2\"\n")();
  EXPECT_THAT(table.columns, ElementsAre("a \"b\", c", "d"));
  EXPECT_THAT(table.values, ElementsAre(1, 2));
  EXPECT_THAT(parsing("\"1,2\n3,4\n"), ThrowsWith<UsageError>("line 1: has a quote that is not closed"));
  EXPECT_THAT(parsing("\"1\"2,3\n"), ThrowsWith<UsageError>("text after a closing quote"));
}

TEST(Csv, NamesLineAndColumnOfWhatIsWrong) {
  EXPECT_THAT(parsing("x,y\n1,2\n\n3,\n"),
              ThrowsWith<UsageError>("'file.csv', line 4, column 1 ('y'): misses a value"));
  EXPECT_THAT(parsing("1,two\n"), ThrowsWith<UsageError>("line 1, column 1: has a value that is no finite number"));
  for (const char* bad : {"nan", "inf", "1e99", "1x", "0x10", "1 2", "--1", "1.2.3", "NA"}) {
    EXPECT_THAT(parsing(std::string("1,2\n1,") + bad), ThrowsWith<UsageError>("no finite number")) << bad;
  }
  EXPECT_THAT(parsing("1,2.5\n", {.label = "1"}), ThrowsWith<UsageError>("label that is no integer"));
  EXPECT_THAT(parsing("1,99999999999999999999\n", {.label = "1"}), ThrowsWith<UsageError>("no integer"));
  EXPECT_THAT(parsing("1,2\n1,2,3\n"), ThrowsWith<UsageError>("line 2: has a line with another number of fields"));
  EXPECT_THAT(parsing(""), ThrowsWith<UsageError>("has no line"));
  EXPECT_THAT(parsing("\n \n"), ThrowsWith<UsageError>("has no line"));
  EXPECT_THAT(parsing("x,y\n"), ThrowsWith<UsageError>("has a header and nothing else"));
}

TEST(Csv, LimitsTheLengthOfALine) {
  EXPECT_THAT(parsing("1,2\n1," + std::string(100, '2'), {.max_line = 50}),
              ThrowsWith<UsageError>("line 2: has too long"));
  EXPECT_EQ(parsing("123\n456\n", {.max_line = 3})().rows, 2);
  EXPECT_EQ(parsing("123\n456", {.max_line = 3})().rows, 2);
}

TEST(Csv, ReadsTheSameInEveryLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "C"}) {
    std::setlocale(LC_ALL, locale);
    EXPECT_THAT(parsing("1.5,2\n")().values, ElementsAre(1.5F, 2));
  }
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Csv, ANumberTooSmallForAFloatIsZero) {
  EXPECT_THAT(parsing("1e-60,1e-40\n")().values, ElementsAre(0.0F, 1e-40F));
}

TEST(Csv, EveryPrefixIsReadOrRefused) {
  const std::string whole = "x,\"y\"\r\n1,2\r\n-3.5,\"4\"\r\n";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    try {
      const CsvTable table = parsing(whole.substr(0, length))();
      EXPECT_EQ(table.values.size(), static_cast<std::size_t>(table.rows * table.width));
    } catch (const UsageError&) {
      // Refused with its reason.
    }
  }
}

TEST(Csv, IsReadFromAFile) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_csv(folder.write("a.csv", "1,2\n")).rows, 1);
  EXPECT_THROW(read_csv(folder.path() / "none.csv"), UsageError);
}

}  // namespace
}  // namespace lockstep::data
