#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <lockstep/comm/group.h>
#include <lockstep/hvd.h>

#include "journal.h"
#include "negotiation.h"

namespace lockstep::hvd {

// One operation of this rank, from submission to its result.
struct Operation {
  Request request;
  at::Tensor tensor;                 // what is sent, and for most operations what is received
  std::vector<std::int64_t> splits;  // of alltoall
  bool started = false;
  std::optional<Work> work;                             // under way
  std::function<at::Tensor(const at::Tensor&)> finish;  // makes the result of it; empty: it is the result
};

// The named operations of one rank. They run on a communicator of their own, whenever this rank calls something here.
class Operations {
 public:
  Operations(Group group, std::chrono::milliseconds timeout);

  // Throws UsageError when an operation of that name is under way on this rank.
  Handle submit(Operation operation);
  bool poll(const Handle& handle);
  at::Tensor synchronize(const Handle& handle);
  int join();
  void leave();

  // "allreduce.noname.3"
  std::string unnamed(const std::string& kind);

 private:
  void write(Line::Kind kind, const Request& request);
  bool read_line(std::chrono::milliseconds patience);
  void read_all();
  void start(const Request& request);
  void wait_for_start(Operation& operation);

  Group group_;
  std::chrono::milliseconds timeout_;
  Journal journal_;
  Negotiation negotiation_;
  std::map<std::string, Handle> submitted_;  // and not started
  std::map<std::string, int> unnamed_;
};

// Of Adasum, that of its parts.
Reduce to_reduce(Op op);

// Starts the operation on the group; its tensor is this rank's.
void start_operation(Operation& operation, const Group& group);

// The part of a rank that has joined: zeros, or no rows. Throws UsageError for what it cannot have a part in.
Operation part_of_joined(const Request& request);

}  // namespace lockstep::hvd
