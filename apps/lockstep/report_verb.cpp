// lockstep report: training runs and benchmarks as one page, as pictures or as numbers.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>
#include <lockstep/report/read.h>
#include <lockstep/report/report.h>

#include "verbs.h"

namespace lockstep::app {
namespace {

struct Words {
  std::vector<std::string> inputs;
  std::string output, png, json;
};

void write(const std::string& file, const std::string& content) {
  if (file == "-") {
    std::cout << content << std::flush;
    return;
  }
  files::write_atomically(file, content);
  std::cerr << "wrote " << escape_controls(file) << "\n";
}

// In the run's own folder where there is one run, else here.
std::string default_output(const Words& words) {
  std::error_code ignored;
  const std::filesystem::path only = words.inputs.front();
  const bool is_folder = words.inputs.size() == 1 && std::filesystem::is_directory(only, ignored);
  return is_folder ? (only / "report.html").string() : "report.html";
}

int run(const Words& words) {
  if (words.output == "-" && words.json == "-") {
    throw UsageError({.message = "the page and the numbers cannot both go to stdout",
                      .found = "-o - --json",
                      .expected = "a file for one of them: --json=FILE"});
  }
  const report::Data data = report::read({words.inputs.begin(), words.inputs.end()});
  for (const std::string& note : data.notes) std::cerr << "note: " << escape_controls(note) << "\n";
  if (!words.json.empty()) write(words.json, report::to_json(data));
  if (!words.png.empty()) {
    const auto files = report::write_png(data, words.png);
    std::cerr << (files.size() == 1 ? fmt::format("wrote {}\n", escape_controls(files.front().string()))
                                    : fmt::format("wrote {} into {}\n", format_plural(std::ssize(files), "picture"),
                                                  escape_controls(words.png)));
  }
  const bool wants_page = !words.output.empty() || (words.json.empty() && words.png.empty());
  if (wants_page) write(words.output.empty() ? default_output(words) : words.output, report::to_html(data));
  return kExitSuccess;
}

}  // namespace

void add_report(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("report", "Shows training runs and benchmarks in one HTML page");
  auto words = std::make_shared<Words>();
  verb->add_option("RUN", words->inputs,
                   "Folders of lockstep train, and files that lockstep bench --json printed; any number of them")
      ->required();
  verb->add_option(
          "-o,--output", words->output,
          "The page; - is stdout. Unless given: report.html, in the run's folder if there is one run, else here")
      ->type_name("FILE");
  verb->add_option("--png", words->png, "The plots as pictures: into a folder, or on one sheet if it ends in .png")
      ->type_name("FOLDER|FILE.png");
  verb->add_flag("--json{-}", words->json, "All numbers as one JSON value on stdout; --json=FILE: into a file");
  verb->footer("With --png or --json alone no page is written.");
  verb->callback([words, &action] { action = [words] { return run(*words); }; });
}

}  // namespace lockstep::app
