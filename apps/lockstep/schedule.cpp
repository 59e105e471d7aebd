// lockstep schedule: what a learning rate schedule will do, as a plot and a table, without training.
#include <sys/ioctl.h>
#include <unistd.h>

#include <langinfo.h>
#include <charconv>
#include <clocale>
#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/table.h>
#include <lockstep/base/text.h>
#include <lockstep/optim/make_schedule.h>
#include <lockstep/optim/schedule_trace.h>

#include "verbs.h"

namespace lockstep::app {
namespace {

struct Words {
  std::string schedule, scaling = "none", metrics;
  bool json = false, all = false;
};

std::vector<double> read_metrics(const std::string& path) {
  std::vector<double> metrics;
  std::istringstream text(files::read(path));
  for (std::string word; text >> word;) {
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || end != word.data() + word.size()) {
      throw UsageError({.message = fmt::format("'{}' holds something that is no number", path),
                        .found = fmt::format("'{}', after {}", word, format_plural(std::ssize(metrics), "metric")),
                        .expected = "one number for each epoch"});
    }
    metrics.push_back(number);
  }
  if (metrics.empty()) throw UsageError(fmt::format("'{}' holds no metric; one number for each epoch is wanted", path));
  return metrics;
}

int terminal_width() {
  constexpr int kUsual = 80;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  int columns = 0;
  const std::string text = env::get("COLUMNS").value_or("");
  std::from_chars(text.data(), text.data() + text.size(), columns);
  return columns > 0 ? columns : kUsual;
}

bool locale_is_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0;
}

std::string unit_of(const optim::Trace& trace) {
  return trace.clock == optim::Clock::kSteps ? "step" : "epoch";
}

std::string to_json(const optim::Trace& trace, const optim::LearningRateOptions& options, const Words& words) {
  nlohmann::json points = nlohmann::json::array();
  for (const auto& point : trace.points) {
    points.push_back({{unit_of(trace), trace.time_of(point)}, {"rate", point.rate}});
  }
  const double scale = optim::scale_of(options.scaling, options.ranks);
  const nlohmann::json all = {{"schedule", words.schedule},
                              {"rate", options.rate},
                              {"ranks", options.ranks},
                              {"scaling", words.scaling},
                              {"scaled_rate", options.rate * scale},
                              {"points", std::move(points)}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string heading(const optim::LearningRateOptions& options, const Words& words) {
  std::string text = fmt::format("{}, rate {:g}", escape_controls(words.schedule), options.rate);
  const double scale = optim::scale_of(options.scaling, options.ranks);
  if (options.scaling == optim::Scaling::kNone) return text + "\n";
  const std::string how = options.scaling == optim::Scaling::kLinear ? "" : "the square root of ";
  return text + fmt::format(" x {}{} = {:g}\n", how, format_plural(options.ranks, "rank"), options.rate * scale);
}

std::string table_of(const optim::Trace& trace, bool all) {
  constexpr std::size_t kMostRows = 20;
  Table table({{.key = unit_of(trace)}, {.key = "rate"}});
  for (const auto& point : optim::points_to_show(trace, all ? trace.points.size() : kMostRows)) {
    table.add_row({fmt::format("{:.6g}", trace.time_of(point)), fmt::format("{:.6g}", point.rate)});
  }
  return table.to_text();
}

int run(const optim::TraceOptions& given, optim::LearningRateOptions options, const Words& words) {
  const optim::Schedule schedule = optim::parse_schedule(words.schedule);
  options.scaling = optim::parse_scaling(words.scaling);
  optim::TraceOptions trace_options = given;
  if (!words.metrics.empty()) trace_options.metrics = read_metrics(words.metrics);
  const optim::Trace trace = optim::trace_schedule(schedule, options, trace_options);
  if (words.json) {
    std::cout << to_json(trace, options, words);
    return kExitSuccess;
  }
  std::cout << heading(options, words);
  if (schedule.plateau()) {
    std::cout
        << (words.metrics.empty()
                ? "The plateau depends on a metric. This is for one that never improves; --metric FILE gives one.\n"
                : fmt::format("The plateau sees the metrics of {}.\n", escape_controls(words.metrics)));
  }
  std::cout << "\n"
            << optim::plot(trace, {.width = terminal_width(), .unicode = locale_is_utf8()}) << "\n"
            << table_of(trace, words.all);
  return kExitSuccess;
}

}  // namespace

void add_schedule(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("schedule", "Plots a learning rate schedule, without training");
  auto given = std::make_shared<optim::TraceOptions>();
  auto options = std::make_shared<optim::LearningRateOptions>();
  auto words = std::make_shared<Words>();
  verb->add_option("schedule", words->schedule, "Such as 'warmup(5)+cosine(85)'")->type_name("SCHEDULE")->required();
  verb->add_option("--rate", options->rate, "The learning rate of a single rank (0.1)");
  verb->add_option("--epochs", given->epochs, "How far to look; else to the schedule's end");
  verb->add_option("--steps", given->steps, "The same, for a schedule that counts steps");
  verb->add_option("--steps-per-epoch", given->steps_per_epoch, "Change the rate in each step, not in each epoch");
  verb->add_option("--ranks", options->ranks, "Ranks that --scale scales for (1)");
  verb->add_option("--scale", words->scaling, "By the number of ranks: linear, sqrt or none");
  verb->add_option("--metric", words->metrics, "For a plateau: a file with a number for each epoch")->type_name("FILE");
  verb->add_flag("--all", words->all, "A row for each epoch or step");
  verb->add_flag("--json", words->json, "One JSON value on stdout, with every epoch or step");
  verb->footer(
      "Schedules: constant, step, multi_step, exponential, polynomial, cosine, cosine_restarts, one_cycle,\n"
      "plateau, warmup. A + B: one after the other; A * B: both at once.");
  verb->callback(
      [given, options, words, &action] { action = [given, options, words] { return run(*given, *options, *words); }; });
}

}  // namespace lockstep::app
