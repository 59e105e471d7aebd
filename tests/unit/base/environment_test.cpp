#include <lockstep/base/environment.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "scoped_variable.h"

namespace lockstep::env {
namespace {

using test::ScopedVariable;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kName = "LOCKSTEP_TEST_VARIABLE";

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Environment, IsNothingWhenUnsetOrEmpty) {
  const ScopedVariable empty(kName, "");
  EXPECT_EQ(get(kName), std::nullopt);
  EXPECT_EQ(get_int(kName), std::nullopt);
  EXPECT_EQ(get_bool(kName), std::nullopt);
}

TEST(Environment, ReadsWholeNumbersWithinBounds) {
  const ScopedVariable variable(kName, "-17");
  EXPECT_EQ(get_int(kName), -17);
  EXPECT_EQ(get_int(kName, -17, 0), -17);
  EXPECT_THROW(get_int(kName, 0), UsageError);
}

TEST(Environment, RefusesWhatIsNoNumber_NamingVariableValueAndBounds) {
  for (const char* text : {"3x", " 3", "0x10", "1e3", "99999999999999999999", "three"}) {
    const ScopedVariable variable(kName, text);
    EXPECT_THAT(message_of([] { get_int(kName, 0, 10); }),
                AllOf(HasSubstr(kName), HasSubstr(text), HasSubstr("0 to 10")));
  }
}

TEST(Environment, ReadsTruthInItsUsualWords) {
  for (const char* yes : {"1", "true", "yes", "on"}) {
    const ScopedVariable variable(kName, yes);
    EXPECT_EQ(get_bool(kName), true);
  }
  for (const char* no : {"0", "false", "no", "off"}) {
    const ScopedVariable variable(kName, no);
    EXPECT_EQ(get_bool(kName), false);
  }
  const ScopedVariable variable(kName, "maybe");
  EXPECT_THAT(message_of([] { get_bool(kName); }), HasSubstr("'maybe'"));
}

}  // namespace
}  // namespace lockstep::env
