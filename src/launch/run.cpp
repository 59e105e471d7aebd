#include <lockstep/launch/run.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/rendezvous_server.h>
#include <lockstep/base/text.h>
#include <lockstep/base/token.h>
#include <lockstep/launch/thread_environment.h>

#include "child.h"
#include "program.h"
#include "rank_environment.h"
#include "reserved_port.h"
#include "signals.h"

namespace lockstep::launch {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kMaxRanks = 4096;
constexpr std::chrono::milliseconds kForEver = std::chrono::hours(1);

struct Failure {
  int rank = 0;
  pid_t pid = 0;
  ChildEnd end;
  std::chrono::duration<double> age{};
};

// The ranks of one job from start to end.
class Job {
 public:
  Job(const RunOptions& options, const std::filesystem::path& program) : options_(options) {
    const NodeBinding binding = plan_binding(read_machine(), options.ranks, options.binding);
    for (const std::string& warning : binding.warnings) log::warning("{}", warning);
    for (int rank = 0; rank < options.ranks; ++rank) {
      const RankPlace place{.rank = rank,
                            .size = options.ranks,
                            .master_port = port_.number(),
                            .rendezvous = options.store == Store::kOwn ? rendezvous() : "",
                            .token_fd = token_file_.get()};
      auto environment = rank_environment(place);
      auto threads = thread_environment(binding, rank);
      environment.merge(threads.variables);
      if (rank == 0 && !threads.kept.empty()) log::info("{}", describe_kept(threads.kept));
      if (options.all_ranks) environment["LOCKSTEP_LOG"] = env::get("LOCKSTEP_LOG").value_or("info") + ",all";
      const AffinityMask affinity(binding.ranks[static_cast<std::size_t>(rank)].cpus);
      ranks_.emplace_back(program, options.command, environment, token_file_.get(), affinity);
    }
  }

  // Until every rank has ended. Returns the job's exit code.
  int wait() {
    while (collect_ends()) {
      if (deadline_ && Clock::now() >= *deadline_) kill_all();
      const auto left = deadline_ ? std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now()) : kForEver;
      if (const auto number = signals_.next(std::max(left, std::chrono::milliseconds(0)))) handle(*number);
    }
    if (!failure_) return kExitSuccess;
    report_failure();
    return failure_->end.exit_code;
  }

 private:
  std::string rendezvous() const { return fmt::format("{}:{}", server_.address(), server_.port()); }

  // Takes note of the ranks that have ended; true while some run.
  bool collect_ends() {
    bool running = false;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (const auto end = ranks_[i].poll(); end && end->exit_code != 0 && !failure_) {
        failure_ = {.rank = static_cast<int>(i), .pid = ranks_[i].pid(), .end = *end, .age = ranks_[i].age()};
        ask_all_to_end(SIGTERM);
      }
      running = running || ranks_[i].running();
    }
    return running;
  }

  void handle(int number) {
    if (number == SIGCHLD) return;
    if (number == SIGUSR1) {
      signal_all(SIGUSR1);
    } else if (number == SIGINT && interrupted_) {
      kill_all();
    } else {
      interrupted_ = interrupted_ || number == SIGINT;
      ask_all_to_end(number);
    }
  }

  void ask_all_to_end(int number) {
    signal_all(number);
    if (!deadline_) deadline_ = Clock::now() + options_.grace;
  }

  void kill_all() {
    signal_all(SIGKILL);
    deadline_ = Clock::now() + kForEver;  // they are dead; what is left is to collect them
  }

  void signal_all(int number) {
    for (const Child& rank : ranks_) rank.signal(number);
  }

  void report_failure() const {
    const std::string how = failure_->end.signal != 0 ? fmt::format("was ended by signal {} ({})", failure_->end.signal,
                                                                    ::strsignal(failure_->end.signal))
                                                      : fmt::format("exited with code {}", failure_->end.exit_code);
    log::error("rank {} of {} (pid {}) {} after {}{}", failure_->rank, options_.ranks, failure_->pid, how,
               format_duration(failure_->age), options_.ranks > 1 ? "; the other ranks were ended" : "");
  }

  const RunOptions& options_;
  SignalReader signals_{SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  ReservedPort port_;  // where ranks of PyTorch meet
  Token token_ = Token::generate();
  UniqueFd token_file_ = token_.to_memfd();
  RendezvousServer server_{token_, {.port = options_.rendezvous_port}};  // where ours do
  std::vector<Child> ranks_;
  std::optional<Failure> failure_;
  std::optional<Clock::time_point> deadline_;
  bool interrupted_ = false;
};

}  // namespace

int run(const RunOptions& options) {
  if (options.ranks < 1 || options.ranks > kMaxRanks) {
    throw UsageError({.message = "the number of ranks makes no sense",
                      .found = std::to_string(options.ranks),
                      .expected = fmt::format("1 to {}", kMaxRanks)});
  }
  if (options.command.empty()) {
    throw UsageError({.message = "no program to run", .next = "lockstep run -n 2 -- PROGRAM ARGUMENTS"});
  }
  return Job(options, find_program(options.command.front())).wait();
}

}  // namespace lockstep::launch
