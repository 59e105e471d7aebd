// Schedules from names, numbers and text.
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/make_schedule.h>

namespace lockstep::optim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Numbers = std::vector<double>;

double rate(const Schedule& schedule, double time) {
  return schedule.rate(time, {.base = 1});
}

std::string refusal(const std::string& text) {
  try {
    parse_schedule(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(MakeSchedule, TakesNamesAndPlainValues) {
  EXPECT_EQ(rate(make_schedule("step", {{"every", Numbers{2}}, {"factor", Numbers{0.5}}}), 3), 0.5);
  EXPECT_EQ(rate(make_schedule("multi_step", {{"milestones", Numbers{2, 4}}}), 2), 0.1);
  const Schedule plateau =
      make_schedule("plateau", {{"mode", "max"}, {"threshold_mode", "abs"}, {"patience", Numbers{3}}});
  EXPECT_TRUE(plateau.plateau()->maximize);
  EXPECT_FALSE(plateau.plateau()->threshold_is_rate);
  EXPECT_EQ(plateau.plateau()->patience, 3);
  EXPECT_EQ(rate(make_schedule("constant"), 7), 1);
}

TEST(MakeSchedule, KnowsEachNameThatItLists) {
  for (const std::string& name : schedule_names()) {
    try {
      make_schedule(name, {{"no_such", Numbers{1}}});
      ADD_FAILURE() << name;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("the schedule " + name), Not(HasSubstr("there is no")))) << name;
    }
  }
}

TEST(MakeSchedule, OffersTheNearestNameAndParameter) {
  EXPECT_THAT(refusal("cosin(5)"), HasSubstr("did you mean 'cosine'?"));
  EXPECT_THAT(refusal("cosine(5, minimun=1)"), HasSubstr("did you mean 'minimum'?"));
  EXPECT_THAT(refusal("plateau(mode=mni)"), HasSubstr("did you mean 'min'?"));
}

TEST(ParseSchedule, ReadsValuesByOrderAndByName) {
  for (const char* text : {"step(2, 0.5)", "step(every=2,factor=0.5)", " step ( 2 , factor = 5e-1 ) "}) {
    EXPECT_EQ(rate(parse_schedule(text), 5), 0.25) << text;
  }
  EXPECT_EQ(rate(parse_schedule("constant"), 0), 1);
  EXPECT_EQ(rate(parse_schedule("constant()"), 0), 1);
  EXPECT_EQ(rate(parse_schedule("multi_step(2, 4, 6, factor=0.5)"), 5), 0.25);
}

TEST(ParseSchedule, JoinsByPlusAndStarAndTheStarBindsMoreTightly) {
  const Schedule schedule = parse_schedule("constant(2, 10) + warmup(4, 0.5) * step(2, 0.5)");
  EXPECT_EQ(rate(schedule, 9), 2);
  EXPECT_EQ(rate(schedule, 10), 0.5);
  EXPECT_EQ(rate(schedule, 12), 0.375);
  EXPECT_EQ(parse_schedule("warmup(5)+cosine(85)").length(), 90);
}

TEST(ParseSchedule, ShowsThePlaceThatCannotBeRead) {
  EXPECT_THAT(refusal(""), AllOf(HasSubstr("its end"), HasSubstr("the name of a schedule")));
  EXPECT_THAT(refusal("cosine(90"), HasSubstr(") or a comma"));
  EXPECT_THAT(refusal("cosine(90) cosine(3)"), HasSubstr("'cosine(3)'"));
  EXPECT_THAT(refusal("cosine(90)+"), HasSubstr("its end"));
  EXPECT_THAT(refusal("cosine(90,)"), HasSubstr("a number"));
  EXPECT_THAT(refusal("cosine(1, 2, 3)"), HasSubstr("at most 2 values"));
  EXPECT_THAT(refusal("cosine(1, length=2)"), HasSubstr("'length' only once"));
  EXPECT_THAT(refusal("cosine"), AllOf(HasSubstr("'length'"), HasSubstr("nothing")));
  EXPECT_THAT(refusal("cosine(ninety)"), HasSubstr("'ninety'"));
  EXPECT_THAT(refusal("cosine(1e999)"), HasSubstr("length"));
  EXPECT_THAT(refusal("plateau(2.5)"), HasSubstr("whole numbers"));
  EXPECT_THAT(refusal("step(3)+cosine(2)"), HasSubstr("never ends"));
}

}  // namespace
}  // namespace lockstep::optim
