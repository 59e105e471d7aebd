// The page of lockstep report in a real browser: it runs without a complaint, asks for nothing, and does what a person
// does with it.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "browser.h"
#include "command.h"
#include "sample_runs.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// One browser and one page for all tests: a browser takes a second to begin.
class ReportPage : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    const auto first = make_sample_run(*folder_, "first", 0.75),
               second = make_sample_run(*folder_, "second", 0.875, 0.2);
    page_ = folder_->path() / "report.html";
    const CommandResult result = run_command({program_path("lockstep"), "report", first.string(), second.string(),
                                              make_sample_scaling(*folder_).string(), "-o", page_.string()});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    browser_ = std::make_unique<Browser>();
  }
  static void TearDownTestSuite() {
    browser_.reset();
    folder_.reset();
  }

  void SetUp() override {
    browser_->prefer_scheme("light");
    browser_->open(page_);
  }
  void TearDown() override {
    EXPECT_THAT(browser_->complaints(), IsEmpty());
    EXPECT_THAT(browser_->requests(), Each(AnyOf("file://" + page_.string(), StartsWith("data:"))));
  }

  static nlohmann::json evaluate(const std::string& expression) { return browser_->evaluate(expression); }

  // Points at the place `part` of the way along the x axis of a plot.
  static void point_at(const std::string& chart, double part) {
    const auto box = evaluate(fmt::format(
        R"((() => {{ const svg = document.querySelector('svg[data-chart="{0}"]'); svg.scrollIntoView({{block: "center"}});
          const b = svg.getBoundingClientRect(), x = charts["{0}"].x, f = b.width / svg.viewBox.baseVal.width;
          return [b.left + (x.from + {1} * (x.to - x.from)) * f, b.top + b.height / 2]; }})())",
        chart, part));
    browser_->move_pointer(box[0], box[1]);
  }
  static std::string tip() {
    return evaluate("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText");
  }

  static std::unique_ptr<TemporaryFolder> folder_;
  static std::filesystem::path page_;
  static std::unique_ptr<Browser> browser_;
};
std::unique_ptr<TemporaryFolder> ReportPage::folder_;
std::filesystem::path ReportPage::page_;
std::unique_ptr<Browser> ReportPage::browser_;

TEST_F(ReportPage, HasTheCurvesOfBothRuns) {
  EXPECT_EQ(evaluate("[...document.querySelectorAll('figure')].map(f => f.id).join()"),
            "loss,top1,top5,rate,throughput,time,scaling,efficiency,step-time,scaling-time");
  // The test curve of each run goes through three points; of these the browser knows the length.
  EXPECT_EQ(evaluate(R"([...document.querySelectorAll('#top1>svg:not(.off) [data-kind=test] path.line')]
    .filter(path => path.getTotalLength() > 100 && path.getAttribute('d').match(/[ML]/g).length === 3).length)"),
            2);
}

TEST_F(ReportPage, ShowsTheNumbersOfAllRunsUnderThePointer) {
  point_at("top1/epochs", 1);
  EXPECT_THAT(tip(), AllOf(HasSubstr("epoch 3"), HasSubstr("first, test"), HasSubstr("75.00%"),
                           HasSubstr("second, test"), HasSubstr("87.50%")));
  point_at("top1/epochs", 0.35);  // nearest to the first epoch, of three that begin at 0
  EXPECT_THAT(tip(), AllOf(HasSubstr("epoch 1"), HasSubstr("50.00%"), HasSubstr("62.50%")));
  browser_->move_pointer(1, 1);
  EXPECT_EQ(tip(), "");
}

TEST_F(ReportPage, StepsThroughAPlotByKeys) {
  evaluate("document.querySelector('svg[data-chart=scaling]').focus()");
  browser_->press_key("ArrowRight");
  EXPECT_THAT(tip(), AllOf(HasSubstr("ranks 1"), HasSubstr("100")));
  browser_->press_key("ArrowRight");
  EXPECT_THAT(tip(), AllOf(HasSubstr("ranks 2"), HasSubstr("187.5")));
  browser_->press_key("Escape");
  EXPECT_EQ(tip(), "");
}

TEST_F(ReportPage, HidesARunThatIsSwitchedOff) {
  evaluate("document.querySelector('[data-toggle=\"1\"]').click()");
  EXPECT_EQ(evaluate("document.querySelectorAll('#loss>svg:not(.off) g[data-input=\"1\"].off').length"), 3);
  EXPECT_EQ(evaluate("document.querySelectorAll('#loss>svg:not(.off) g[data-input=\"0\"].off').length"), 0);
  point_at("top1/epochs", 1);
  EXPECT_THAT(tip(), AllOf(HasSubstr("75.00%"), Not(HasSubstr("87.50%"))));
}

TEST_F(ReportPage, FitsItsAxesToWhatIsShown) {
  // The lines, texts and dots of all plots, with their places.
  evaluate(R"(window.drawn = () => [...document.querySelectorAll('figure>svg *')].map(part =>
    part.tagName + part.textContent + ['d', 'x', 'y', 'cx', 'cy'].map(name => part.getAttribute(name) ?? '').join(' ')
        .replace(/[0-9.]+/g, number => Math.round(number))); window.before = drawn(); 0)");
  const std::string ends = "(({x, y}) => [x.low, x.high, y.low, y.high])(charts['top1/epochs'])";
  EXPECT_EQ(evaluate(ends), nlohmann::json({0, 3, 0.5, 0.9}));
  evaluate("document.querySelector('[data-toggle=\"1\"]').click()");
  EXPECT_EQ(evaluate(ends), nlohmann::json({0, 3, 0.5, 0.75}));
  EXPECT_EQ(evaluate("[...document.querySelectorAll('#top1>svg:not(.off) .tick')].map(t => t.textContent).join()"),
            "50%,55%,60%,65%,70%,75%,0.0,0.5,1.0,1.5,2.0,2.5,3.0");
  point_at("top1/epochs", 1);
  EXPECT_EQ(evaluate("Math.round(document.querySelector('circle.at').getAttribute('cy'))"), 30) << "at the top";
  browser_->move_pointer(1, 1);
  evaluate("document.querySelector('[data-toggle=\"1\"]').click()");
  EXPECT_EQ(evaluate("drawn().filter((part, i) => part !== before[i]).join()"), "") << "page and script draw alike";
  EXPECT_TRUE(evaluate("before.length > 500 && drawn().length === before.length"));
}

TEST_F(ReportPage, KeepsItsAxesWhenNothingIsLeft) {
  evaluate("document.querySelectorAll('[data-toggle]').forEach(chip => chip.click())");
  EXPECT_EQ(evaluate("document.querySelectorAll('#top1>svg:not(.off) .tick').length > 5"), true);
}

TEST_F(ReportPage, CutsOffABeginningThatLiesFarOutsideAndShowsItOnDemand) {
  std::string lines;
  for (int step = 1; step <= 40; ++step) {
    lines += fmt::format(
        R"({{"step":{},"epoch":1,"split":"train","span":"steps","loss":1,"top1":{},"samples":64,"time":{}}})"
        "\n",
        step, step <= 2 ? 0.125 : 0.875 + step / 512.0, 1e9 + step);
  }
  std::filesystem::create_directories(folder_->path() / "late");
  folder_->write("late/metrics.jsonl", lines);
  const auto page = folder_->path() / "late.html";
  const CommandResult result =
      run_command({program_path("lockstep"), "report", (folder_->path() / "late").string(), "-o", page.string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  browser_->open(page);
  const std::string title = "document.querySelector('#top1>svg:not(.off) .frame').lastElementChild.textContent";
  const std::string low = "charts['top1/steps'].y.low", button = "document.querySelector('#top1 .range')";
  EXPECT_GT(evaluate(low), 0.8);
  EXPECT_EQ(evaluate(title), "↑ top-1, beginning cut off");
  EXPECT_EQ(evaluate("document.querySelector('#loss .range').hidden"), true) << "there nothing is cut off";
  point_at("top1/steps", 0.025);
  EXPECT_THAT(tip(), AllOf(HasSubstr("step 1"), HasSubstr("12.50%"))) << "the number is there all the same";
  EXPECT_EQ(evaluate("document.querySelectorAll('circle.at').length"), 0);
  evaluate(button + ".click()");
  EXPECT_LE(evaluate(low), 0.125);
  EXPECT_EQ(evaluate(title), "↑ top-1");
  evaluate(button + ".click()");
  EXPECT_GT(evaluate(low), 0.8);
  EXPECT_THAT(browser_->complaints(), IsEmpty());
  browser_->open(page_);
}

TEST_F(ReportPage, ChangesTheAxis) {
  const std::string shown = "document.querySelector('#loss>svg:not(.off)').dataset.view";
  EXPECT_EQ(evaluate(shown), "epochs");
  evaluate("document.querySelector('[data-axis=steps]').click()");
  EXPECT_EQ(evaluate(shown), "steps");
  point_at("loss/steps", 1);
  EXPECT_THAT(tip(), AllOf(HasSubstr("step 30"), HasSubstr("0.33333")));
}

TEST_F(ReportPage, IsDarkWhereTheSystemOrItsReaderWantsIt) {
  const std::string paper = "getComputedStyle(document.body).backgroundColor";
  EXPECT_EQ(evaluate(paper), "rgb(255, 255, 255)");
  browser_->prefer_scheme("dark");
  EXPECT_EQ(evaluate(paper), "rgb(20, 23, 28)");
  browser_->prefer_scheme("dark", "print");
  EXPECT_EQ(evaluate(paper), "rgb(255, 255, 255)");
  browser_->prefer_scheme("dark");
  evaluate("document.getElementById('theme').click()");
  EXPECT_EQ(evaluate(paper), "rgb(255, 255, 255)") << "the switch says light";
  evaluate("document.getElementById('theme').click()");
  browser_->prefer_scheme("light");
  EXPECT_EQ(evaluate(paper), "rgb(20, 23, 28)") << "the switch says dark";
  evaluate("document.getElementById('theme').click()");
  EXPECT_EQ(evaluate(paper), "rgb(255, 255, 255)") << "the switch says auto";
}

TEST_F(ReportPage, ShowsOnlyTheDifferencesOfConfigsAndCopiesTables) {
  const std::string rows = "[...document.querySelectorAll('#configuration tbody tr:not(.off)')].length";
  EXPECT_EQ(evaluate(rows), 1);
  EXPECT_EQ(evaluate("as_tsv(document.querySelector('#configuration table'))"),
            "key\tfirst\tsecond\noptimizer.lr\t0.1\t0.2\n");
  evaluate("document.getElementById('only-differences').click()");
  EXPECT_EQ(evaluate(rows), 2);
  EXPECT_EQ(evaluate("as_tsv(document.querySelector('#efficiency table'))"),
            "ranks\tscaling.json\n1\t100.00%\n2\t93.75%\n");
  // What the button hands to the system, whichever way it goes.
  EXPECT_EQ(evaluate(R"(new Promise(done => {
    document.addEventListener('copy', () => done(document.activeElement.value));
    navigator.clipboard.writeText = text => Promise.resolve(done(text));
    document.querySelector('#efficiency .copy').click(); }))"),
            "ranks\tscaling.json\n1\t100.00%\n2\t93.75%\n");
}

TEST_F(ReportPage, RunsNoOtherScript) {
  evaluate(R"(document.body.insertAdjacentHTML('beforeend', '<img src="x" onerror="window.broken = 1">'))");
  evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.broken = 1'}))");
  EXPECT_TRUE(evaluate("window.broken === undefined").get<bool>());
  EXPECT_THAT(browser_->complaints(), Not(IsEmpty())) << "the browser says what it refuses";
  browser_->open(page_);
}

}  // namespace
}  // namespace lockstep::test
