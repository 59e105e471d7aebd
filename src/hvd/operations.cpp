#include "operations.h"

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::hvd {
namespace {

using Clock = std::chrono::steady_clock;

// A rank that has waited so long for others says so: until then the chances are that they are only a little behind.
constexpr auto kSlice = std::chrono::milliseconds(100);

}  // namespace

Operations::Operations(Group group, std::chrono::milliseconds timeout)
    : group_(std::move(group)),
      timeout_(timeout),
      journal_(group_.process_group()->getStore(), group_.size()),
      negotiation_(group_.size()) {}

std::string Operations::unnamed(const std::string& kind) {
  return fmt::format("{}.noname.{}", kind, ++unnamed_[kind]);
}

void Operations::write(Line::Kind kind, const Request& request) {
  journal_.append(Line{kind, group_.rank(), journal_.position(), request}.to_text());
}

Handle Operations::submit(Operation operation) {
  const std::string name = operation.request.name;
  auto handle = std::make_shared<Operation>(std::move(operation));
  if (!submitted_.emplace(name, handle).second) {
    throw UsageError({.message = fmt::format("'{}' is submitted again before it was synchronized", name),
                      .next = "give each operation that is under way a name of its own"});
  }
  write(Line::Kind::kSubmit, handle->request);
  return handle;
}

bool Operations::read_line(std::chrono::milliseconds patience) {
  const auto text = journal_.next(patience);
  if (!text) return false;
  const Line line = Line::from_text(*text);
  journal_.others_position(line.rank, line.position);
  for (const Request& request : negotiation_.take(line)) start(request);
  return true;
}

void Operations::read_all() {
  while (read_line(std::chrono::milliseconds(0))) {
  }
}

void Operations::start(const Request& request) {
  const auto own = submitted_.find(request.name);
  if (own == submitted_.end()) {
    Operation part = part_of_joined(request);
    start_operation(part, group_);
    if (part.work) part.work->wait();
    return;
  }
  const Handle handle = own->second;
  submitted_.erase(own);
  start_operation(*handle, group_);
  handle->started = true;
}

void Operations::wait_for_start(Operation& operation) {
  const auto deadline = Clock::now() + timeout_;
  bool told = false;
  while (!operation.started) {
    if (read_line(kSlice)) continue;
    if (!std::exchange(told, true)) write(Line::Kind::kWait, operation.request);
    if (Clock::now() < deadline) continue;
    throw TimeoutError(
        {.message = fmt::format("{} '{}' ({}) timed out after {}", operation.request.kind, operation.request.name,
                                operation.request.call, format_duration(timeout_)),
         .found = format_ranks(negotiation_.missing(operation.request.name)) + " did not submit it",
         .next = "submit it on every rank; raise the timeout if one is only slow"});
  }
}

bool Operations::poll(const Handle& handle) {
  if (!handle->started) read_all();
  return handle->started && (!handle->work || handle->work->done());
}

at::Tensor Operations::synchronize(const Handle& handle) {
  wait_for_start(*handle);
  if (handle->work) handle->work->wait();
  handle->work.reset();
  return handle->finish ? handle->finish(handle->tensor) : handle->tensor;
}

int Operations::join() {
  const int before = negotiation_.joins();
  write(Line::Kind::kJoin, {});
  auto deadline = Clock::now() + timeout_;
  while (negotiation_.joins() == before) {
    if (read_line(kSlice)) {
      deadline = Clock::now() + timeout_;
    } else if (Clock::now() > deadline) {
      throw TimeoutError({.message = fmt::format("join timed out after {}", format_duration(timeout_)),
                          .found = format_ranks(negotiation_.missing("")) + " did not join, or submit anything",
                          .next = "call join on every rank; raise the timeout if one is only slow"});
    }
  }
  return negotiation_.last_joined();
}

void Operations::leave() {
  write(Line::Kind::kLeave, {});
}

}  // namespace lockstep::hvd
