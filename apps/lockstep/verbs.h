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

// A verb that lockstep-torch has.
void add_torch_verb(CLI::App& program, Action& action, const std::string& name, const std::string& description);

}  // namespace lockstep::app
