#include <lockstep/launch/thread_environment.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/cpu_list.h>

namespace lockstep::launch {
namespace {

bool share_cpus(const RankBinding& a, const RankBinding& b) {
  return std::find_first_of(a.cpus.begin(), a.cpus.end(), b.cpus.begin(), b.cpus.end()) != a.cpus.end();
}

bool has_own_cpus(const NodeBinding& node, const RankBinding& rank) {
  if (rank.cpus.empty()) return false;
  return std::none_of(node.ranks.begin(), node.ranks.end(),
                      [&](const RankBinding& other) { return &other != &rank && share_cpus(other, rank); });
}

// oneCCL wants the cores of all ranks of the node in one list, and takes its rank's part.
std::string comm_cpus_of_all(const NodeBinding& node) {
  std::vector<int> cpus;
  for (const RankBinding& rank : node.ranks) cpus.insert(cpus.end(), rank.comm_cpus.begin(), rank.comm_cpus.end());
  return fmt::format("{}", fmt::join(cpus, ","));
}

class Writer {
 public:
  using User = std::function<std::optional<std::string>(const std::string& name)>;
  explicit Writer(const User& user) : user_(user) {}

  void set(const std::string& name, const std::string& value) {
    const auto theirs = user_(name);
    if (!theirs) {
      result_.variables[name] = value;
    } else if (*theirs != value) {
      result_.kept.push_back({name, *theirs, value});
    }
  }
  bool is_set(const std::string& name) const { return user_(name).has_value(); }
  ThreadEnvironment take() { return std::move(result_); }

 private:
  const User& user_;
  ThreadEnvironment result_;
};

}  // namespace

ThreadEnvironment thread_environment(const NodeBinding& node, int local_rank,
                                     const std::function<std::optional<std::string>(const std::string& name)>& user) {
  const RankBinding& rank = node.ranks.at(static_cast<std::size_t>(local_rank));
  const std::string threads = std::to_string(rank.threads);
  Writer writer(user);
  writer.set("OMP_NUM_THREADS", threads);
  // OpenMP takes a list, for regions inside regions; MKL one number.
  const std::string outer = user("OMP_NUM_THREADS").value_or(threads);
  writer.set("MKL_NUM_THREADS", outer.substr(0, outer.find(',')));

  // Milliseconds that a thread of Intel's OpenMP spins after its work. Its own 200 suit a program that does nothing but
  // compute; here others wait for that core: those that communicate and those that read data.
  writer.set("KMP_BLOCKTIME", node.crowded ? "0" : "1");
  // One thread for each hardware thread of the mask; "1,0" takes a second one of a core only when every core has one.
  // Ranks that share a mask would all begin with its first core. OMP_PROC_BIND and OMP_PLACES are not set: GNU's
  // OpenMP, which libtorch uses, obeys them by tying the main thread to one core, and every thread that it starts
  // later, for communication or for data, inherits that core. A user who sets them has decided.
  const bool decided = writer.is_set("OMP_PROC_BIND") || writer.is_set("OMP_PLACES");
  if (has_own_cpus(node, rank) && !decided) {
    writer.set("KMP_AFFINITY",
               node.threads_per_core == 1 ? "granularity=fine,compact,1,0" : "granularity=fine,compact");
  }

  if (!rank.comm_cpus.empty()) {
    writer.set("LOCKSTEP_COMM_CPUS", format_cpu_list(rank.comm_cpus));
    // These two belong together: where one is the user's, ours for the other would not fit it.
    const bool placed = writer.is_set("CCL_WORKER_COUNT") || writer.is_set("CCL_WORKER_AFFINITY");
    const auto set_both_or_none = [&](const std::string& name, const std::string& value) {
      if (!placed || writer.is_set(name)) writer.set(name, value);
    };
    set_both_or_none("CCL_WORKER_COUNT", std::to_string(rank.comm_cpus.size()));
    set_both_or_none("CCL_WORKER_AFFINITY", comm_cpus_of_all(node));
  }
  return writer.take();
}

std::string describe_kept(const std::vector<KeptVariable>& kept) {
  std::vector<std::string> parts;
  for (const KeptVariable& variable : kept) {
    parts.push_back(fmt::format("{}={} ({} would fit)", variable.name, variable.value, variable.ours));
  }
  return parts.empty() ? "" : fmt::format("kept as you have set it: {}", fmt::join(parts, ", "));
}

}  // namespace lockstep::launch
