// Which of the operations that ranks have asked for can run, and in which order.
//
//   1. A rank writes into the journal what it does: it submits a tensor under a name, waits for a name, joins, leaves.
//   2. Every rank reads the journal from its start and gives each line to its Negotiation.
//   3. An operation is agreed on at the line by which the last rank that has not joined submits it.
//   4. Where a line shows that ranks wait for what cannot come, or have submitted different things under one name, all
//      ranks find it at that same line.
//
// There is no coordinator: the order of the journal is all that the ranks need to come to the same conclusions.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lockstep::hvd {

// What an operation is, as a rank that has joined must know it.
struct Request {
  std::string name;
  std::string kind;                 // "allreduce", "allgather", "broadcast", "alltoall"
  std::string call;                 // "average of float32[10]": what must be the same on all ranks
  int detail = 0;                   // the operation's Op, or the root's rank
  int type = 0;                     // the at::ScalarType
  int device = 0;                   // the at::DeviceType
  std::vector<std::int64_t> sizes;  // on the rank that submitted it
};

struct Line {
  enum class Kind { kSubmit, kWait, kJoin, kLeave };
  Kind kind = Kind::kSubmit;
  int rank = 0;
  std::int64_t position = 0;  // how far its writer had read
  Request request;            // of kWait the name alone

  std::string to_text() const;
  static Line from_text(const std::string& text);
};

class Negotiation {
 public:
  explicit Negotiation(int ranks);

  // Returns what the line makes possible, in the order in which to run it. Throws UsageError, then and ever after, when
  // the ranks cannot go on.
  std::vector<Request> take(const Line& line);

  // Who has not submitted it yet, joined ranks aside.
  std::vector<int> missing(const std::string& name) const;

  // How often all ranks have joined, after which a new round of joins begins; and who came last.
  int joins() const { return joins_; }
  int last_joined() const { return last_joined_; }

 private:
  struct Pending {
    Request request;
    std::map<int, std::string> calls;  // by rank
  };
  bool is_complete(const Pending& pending) const;
  void require_agreement(const Pending& pending);
  void require_hope();
  [[noreturn]] void give_up(const std::string& found);

  int ranks_;
  std::map<std::string, Pending> pending_;
  std::map<int, std::string> waiting_;  // the names that ranks wait for
  std::set<int> joined_;
  std::set<int> left_;
  int joins_ = 0;
  int last_joined_ = -1;
  std::optional<std::string> hopeless_;  // why nothing goes on
};

}  // namespace lockstep::hvd
