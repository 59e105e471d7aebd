// Starts a program as the ranks of a job, on this machine or on many, watches them, and leaves none behind.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <lockstep/launch/binding.h>

namespace lockstep::launch {

// Where ranks meet: at the launcher's authenticated rendezvous, or at PyTorch's TCPStore on MASTER_ADDR:MASTER_PORT,
// where ranks of Python and of C++ can be in one job, and which is open to who can reach that address.
enum class Store { kOwn, kTcp };

struct OutputOptions {
  enum class Show { kAll, kFirst, kNone };  // whose lines this process prints: all ranks', rank 0's, nobody's
  Show show = Show::kAll;
  bool label = false;             // "[rank/size] " before each line
  std::filesystem::path log_dir;  // also into LOG_DIR/HOST/RANK/stdout and stderr; empty: no files
};

// The machines of a job. With nothing said it is this one, or those of the Slurm, PBS or Cobalt allocation around it.
struct NodeOptions {
  // The same command on each node. Between `min` and `max` of them take part; what comes later waits for a restart.
  int min = 0;  // 0: not said
  int max = 0;
  int node_rank = -1;          // -1: as they come; the one with 0 leads
  std::string master_address;  // of the leading node; also the address that the launcher listens on in the other ways
  int master_port = 0;
  std::filesystem::path token_file;  // the secret that the nodes share; empty: one made from the user's key

  // Or one command, which starts the rest over ssh: "a", "b:4" (4 ranks there).
  std::vector<std::string> hosts;
  std::filesystem::path hostfile;
  std::string ssh = "ssh";  // with options, separated by spaces

  std::chrono::seconds join_timeout{300};  // for all nodes to come
};

struct RunOptions {
  int ranks = 0;                     // in all; 0: ranks_per_node on each node
  int ranks_per_node = 0;            // 0: one for each GPU, else one
  std::vector<std::string> command;  // the program and its arguments; started directly, never through a shell
  std::map<std::string, std::string> environment;  // for the ranks
  NodeOptions nodes;
  BindingOptions binding;  // of the ranks to cores
  OutputOptions output;
  bool all_ranks = false;  // every rank's log is printed, not rank 0's alone
  Store store = Store::kOwn;
  int rendezvous_port = 0;  // of the launcher's rendezvous; 0: the kernel chooses
  int max_restarts = 0;
  std::chrono::seconds heartbeat{0};  // a rank that is silent for longer fails the job; 0: never
  // How long ranks have to end by themselves after the user asked; after a failure three seconds at most.
  std::chrono::milliseconds grace = std::chrono::seconds(3);
};

// Returns when every rank has ended: 0 when all succeeded, else the exit code of the rank that failed first (128 + the
// signal's number when a signal ended it); what led to it stands on stderr. When one fails the others are asked to end,
// and are killed when they do not. SIGINT, SIGTERM and SIGHUP ask the ranks to end, SIGUSR1 and SIGUSR2 are passed on;
// a second SIGINT kills them at once. No process of the job outlives this call, nor the caller's death.
//
// Throws UsageError, with nothing started, when the options make no sense.
int run(const RunOptions& options);

// How many ranks this machine would have, as far as the options and the scheduler tell.
int local_ranks(const RunOptions& options);

// The part of a job that another launcher, at ADDRESS:PORT, has this node do. The job's token comes through stdin,
// whose end means that the job is over. Returns the job's exit code.
struct AgentOptions {
  std::string address;
  int port = 0;
  int number = -1;                   // this node's place, if the launcher knows
  std::filesystem::path token_file;  // instead of stdin
};
int run_agent(const AgentOptions& options);

}  // namespace lockstep::launch
