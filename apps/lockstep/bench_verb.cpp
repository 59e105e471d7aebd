// lockstep bench: compare, scaling and project are served here, the others by lockstep-torch.
#include <algorithm>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/command_line.h>

#include "verbs.h"

namespace lockstep::app {
namespace {

constexpr const char* kWords = "Measures: allreduce, loader, step; compare, scaling and project";

int bench(const std::vector<std::string>& words) {
  CLI::App program("", "lockstep");
  CLI::App* verb = program.add_subcommand("bench", kWords);
  verb->require_subcommand(1);
  // lockstep-torch reads what stands behind these, their help included.
  const std::vector<std::pair<std::string, std::string>> torch_verbs = {
      {"allreduce", "Time and bandwidth of all-reduce by size, and a check of its result"},
      {"loader", "Samples a second from files to batches, with nobody to use them"},
      {"step", "Samples a second of training, and where the time goes"}};
  for (const auto& [name, description] : torch_verbs) {
    if (!words.empty() && words.front() == name) return run_torch_verb("bench", words);
    verb->add_subcommand(name, description);
  }
  Action action;
  add_bench_compare(*verb, action);
  add_bench_scaling(*verb, action);
  add_bench_project(*verb, action);
  std::vector<const char*> argv = {"lockstep", "bench"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  if (const auto done = parse_command_line(program, static_cast<int>(argv.size()), argv.data())) return *done;
  return action ? action() : run_torch_verb("bench", words);
}

}  // namespace

void add_bench(CLI::App& program, Action& action) {
  CLI::App* verb = program.add_subcommand("bench", kWords);
  verb->prefix_command();
  verb->set_help_flag();  // read below, from the words as they were typed
  verb->callback([verb, &action] { action = [verb] { return bench(verb->remaining()); }; });
}

}  // namespace lockstep::app
