#include <lockstep/launch/run.h>

#include <unistd.h>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/token.h>

#include "agent.h"
#include "guardian.h"
#include "job.h"
#include "node_plan.h"
#include "printer.h"
#include "program.h"
#include "user_key.h"

namespace lockstep::launch {
namespace {

using Way = NodePlan::Way;

bool comes_by_itself(const NodePlan& plan) {
  return plan.way == Way::kLead || plan.way == Way::kJoin;
}

Token token_for(const NodePlan& plan, const NodeOptions& nodes) {
  return comes_by_itself(plan) ? job_token(nodes.token_file, fmt::format("{}:{}", plan.address, plan.port))
                               : Token::generate();
}

int join(const RunOptions& options, const NodePlan& plan, Printer& printer, int guardian) {
  AgentPlan agent{.address = plan.address, .port = plan.port, .told = {}, .own = &options, .printer = &printer};
  agent.told.number = plan.number;
  agent.told.nodes_min = plan.min;
  agent.told.nodes_max = plan.max;
  agent.told.ranks = options.ranks;
  agent.told.ranks_per_node = options.ranks_per_node;
  agent.connect_timeout = options.nodes.join_timeout;
  return Agent(agent, token_for(plan, options.nodes), guardian).run();
}

// The place that a scheduler gave this task among the nodes.
int number_from_scheduler() {
  for (const char* name : {"SLURM_NODEID", "ALPS_APP_PE"}) {
    if (const auto number = env::get_int(name, 0, 1 << 16)) return static_cast<int>(*number);
  }
  return -1;
}

}  // namespace

int run(const RunOptions& options) {
  if (options.command.empty()) {
    throw UsageError({.message = "no program to run", .next = "lockstep run -n 2 -- PROGRAM ARGUMENTS"});
  }
  const NodePlan plan = plan_nodes(options);
  if (plan.way != Way::kSsh) find_program(options.command.front());  // known here before anything is started
  return guard([&](int guardian) {
    Printer printer(options.output);  // ends last: whoever reads what it prints may take his time
    const int code = plan.way == Way::kJoin
                         ? join(options, plan, printer, guardian)
                         : Job(options, plan, token_for(plan, options.nodes), printer, guardian).run();
    stand_down(guardian);
    return code;
  });
}

int local_ranks(const RunOptions& options) {
  const NodePlan plan = plan_nodes(options);
  const NodeRoom room{.told = plan.hosts.empty() ? 0 : plan.hosts.front().ranks,
                      .gpus = static_cast<int>(read_machine().gpus.size())};
  return share_ranks(options, std::vector(static_cast<std::size_t>(plan.max), room)).front();
}

int run_agent(const AgentOptions& options) {
  const Token token = options.token_file.empty() ? Token::read(STDIN_FILENO) : Token::read_file(options.token_file);
  AgentPlan plan{.address = options.address, .port = options.port, .told = {}};
  plan.told.number = options.number >= 0 ? options.number : number_from_scheduler();
  plan.stdin_is_the_line = options.token_file.empty();
  return guard([&](int guardian) { return Agent(plan, token, guardian).run(); });
}

}  // namespace lockstep::launch
