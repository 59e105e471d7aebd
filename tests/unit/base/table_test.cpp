#include <lockstep/base/table.h>

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

Table sample() {
  Table table({{.key = "model", .title = "Model"},
               {.key = "rate", .title = "samples/s", .precision = 1},
               {.key = "ranks"},
               {.key = "ok"}});
  table.add_row({std::string("größe"), 1234.56, std::int64_t{12000}, true});
  table.add_row({std::string("b\x1b"), std::nan(""), {}, false});
  return table;
}

TEST(Table, AlignsColumnsByWhatIsSeen) {
  EXPECT_EQ(sample().to_text(),
            "Model  samples/s   ranks  ok\n"
            "größe     1234.6  12,000  yes\n"
            "b\\x1b        nan          no\n");
}

TEST(Table, KeepsTypesInJson) {
  const auto json = nlohmann::json::parse(sample().to_json());
  EXPECT_EQ(json[0]["rate"], 1234.56);
  EXPECT_EQ(json[0]["ranks"], 12000);
  EXPECT_EQ(json[0]["ok"], true);
  EXPECT_TRUE(json[1]["rate"].is_null());
  EXPECT_TRUE(json[1]["ranks"].is_null());
  EXPECT_EQ(json[1]["model"], "b\x1b");
}

TEST(Table, MakesValidJsonOfAnyBytes) {
  Table table(std::vector<Table::Column>{{.key = "name"}});
  table.add_row({std::string("\xff\xfe")});
  EXPECT_TRUE(nlohmann::json::accept(table.to_json()));
}

TEST(Table, RefusesARowOfAnotherWidth) {
  Table table({{.key = "a"}, {.key = "b"}});
  EXPECT_THROW(table.add_row({std::string("x")}), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep
