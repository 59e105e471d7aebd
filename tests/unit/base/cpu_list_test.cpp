#include <lockstep/base/cpu_list.h>

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TEST(CpuList, IsReadAsLinuxWritesIt) {
  EXPECT_THAT(parse_cpu_list("0-2,7"), Optional(ElementsAre(0, 1, 2, 7)));
  EXPECT_THAT(parse_cpu_list("5,3"), Optional(ElementsAre(5, 3)));
  for (const char* wrong : {"", "a", "1-", "-1", "3-1", "1,,2", "1 2", "0-99999999999", "0x1"}) {
    EXPECT_EQ(parse_cpu_list(wrong), std::nullopt) << wrong;
  }
}

TEST(CpuList, IsWrittenWithRanges) {
  EXPECT_EQ(format_cpu_list(std::vector{0, 1, 2, 7, 9, 10}), "0-2,7,9-10");
  EXPECT_EQ(format_cpu_list(std::vector{5, 3}), "5,3");
  EXPECT_EQ(format_cpu_list(std::vector<int>{}), "");
}

}  // namespace
}  // namespace lockstep
