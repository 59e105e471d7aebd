// lockstep checkpoint verify: whether every byte is as it was written.
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/checkpoint/survey.h>
#include <lockstep/checkpoint/torch_file.h>
#include <lockstep/checkpoint/weights.h>

#include "checkpoint.h"

namespace lockstep::app {
namespace {

using checkpoint::WeightsKind;

// Prints a line for it; returns whether it is good.
bool report(const std::string& path, const std::string& problem, std::string_view good) {
  if (problem.empty()) {
    fmt::print("good: {}{}\n", escape_controls(path), good);
  } else {
    fmt::print("bad: {}\n  {}\n", escape_controls(path), escape_controls(problem, /*keep_newlines=*/true));
  }
  return problem.empty();
}

bool verify_file(const std::string& path) {
  const WeightsKind kind = checkpoint::kind_of_weights(path);
  std::string problem;
  bool has_checksums = false;
  try {
    if (kind == WeightsKind::kTorch) {
      has_checksums = checkpoint::verify_torch_file(path);
    } else {
      checkpoint::open_weights(path);
    }
  } catch (const UsageError& error) {
    problem = error.what();
  }
  return report(path, problem, has_checksums ? "" : ", as far as can be told: it has no checksums");
}

int verify(const std::string& path) {
  bool good = true;
  std::error_code unknown;  // then opening it says why
  if (std::filesystem::is_directory(path, unknown)) {
    for (const auto& one : checkpoint::survey(path)) good = report(one.folder.string(), one.problem, "") && good;
  } else {
    good = verify_file(path);
  }
  return good ? kExitSuccess : kExitFailure;
}

}  // namespace

void add_checkpoint_verify(CLI::App& checkpoint, Action& action) {
  CLI::App* verb = checkpoint.add_subcommand("verify", "Reads every byte, and says whether it is as it was written");
  auto path = std::make_shared<std::string>();
  verb->add_option("path", *path, "A checkpoint, a folder of them, a run, or a .safetensors, .pt or .pth file")
      ->type_name("PATH")
      ->required();
  verb->footer("Exit code 0: all is good; 1: something is bad and was named; 2: there is nothing to verify");
  verb->callback([path, &action] { action = [path] { return verify(*path); }; });
}

}  // namespace lockstep::app
