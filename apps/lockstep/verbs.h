// The verbs of the command, one file each. A verb declares its arguments on `program` and, when it was the one chosen,
// puts what is to be done into `action`.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockstep::app {

using Action = std::function<int()>;

void add_info(CLI::App& program, Action& action);
// `after_dashes` is what stands behind "--" on the command line; it is filled before the action runs.
void add_run(CLI::App& program, Action& action, const std::vector<std::string>& after_dashes);
void add_submit(CLI::App& program, Action& action, const std::vector<std::string>& after_dashes);

void add_schedule(CLI::App& program, Action& action);
void add_report(CLI::App& program, Action& action);
void add_checkpoint(CLI::App& program, Action& action);

void add_train(CLI::App& program, Action& action);

void add_agent(CLI::App& program, Action& action);

// All of them are lockstep-data's.
void add_data(CLI::App& program, Action& action);

// Some of them are lockstep-torch's.
void add_bench(CLI::App& program, Action& action);
void add_bench_compare(CLI::App& bench, Action& action);
void add_bench_scaling(CLI::App& bench, Action& action);
void add_bench_project(CLI::App& bench, Action& action);

// A verb that lockstep-torch has, with the words behind it: on one rank, or on as many as -n says.
int run_torch_verb(const std::string& name, std::vector<std::string> words);

}  // namespace lockstep::app
