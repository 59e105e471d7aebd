#include "local.h"

#include <string>
#include <utility>

#include <lockstep/base/errors.h>

#include "local_engine.h"

namespace lockstep::comm {
namespace {

using local::LocalEngine;
using local::Segment;

// The keys of the meeting. Rank 0 tells where the memory is; every other rank tells what came of its attempt to map it;
// rank 0 tells what came of all attempts, so that all ranks succeed or fail together.
const std::string kAddress = "local/address";
const std::string kVerdict = "local/verdict";
const std::string kGood = "good";

std::string outcome_key(int rank) {
  return "local/outcome/" + std::to_string(rank);
}

// What came of it, in words.
template <typename Attempt>
std::string outcome_of(Attempt&& attempt) {
  try {
    attempt();
    return kGood;
  } catch (const Error& error) {
    return error.parts().message;
  }
}

std::string collect_verdict(std::string verdict, int ranks, const LocalMeeting& meeting) {
  for (int rank = 1; rank < ranks; ++rank) {
    const std::string outcome = meeting.look_up(outcome_key(rank));
    if (verdict == kGood && outcome != kGood) verdict = "rank " + std::to_string(rank) + " " + outcome;
  }
  return verdict;
}

std::shared_ptr<Segment> share_memory(RankId self, const LocalMeeting& meeting, std::string& verdict) {
  std::shared_ptr<Segment> segment;
  if (self.rank == 0) {
    verdict = outcome_of([&] { segment = std::make_shared<Segment>(self.size); });
    meeting.publish(kAddress, segment ? segment->memory().address() : "nowhere");
    if (segment) segment->add_usable_cores();
    verdict = collect_verdict(std::move(verdict), self.size, meeting);
    meeting.publish(kVerdict, verdict);
    if (segment) segment->memory().close_door();
    return segment;
  }
  const std::string address = meeting.look_up(kAddress);
  const std::string outcome = outcome_of([&] {
    segment = std::make_shared<Segment>(self.size, address);
    segment->add_usable_cores();
  });
  meeting.publish(outcome_key(self.rank), outcome);
  verdict = meeting.look_up(kVerdict);
  return segment;
}

}  // namespace

std::unique_ptr<Engine> make_local_engine(RankId self, const LocalMeeting& meeting, const Patience& patience) {
  if (self.size > local::kMostRanks) {
    throw UsageError({.message = "too many ranks on one node for the backend local",
                      .found = std::to_string(self.size),
                      .expected = "at most " + std::to_string(local::kMostRanks),
                      .next = "use the backend gloo"});
  }
  std::string verdict;
  auto segment = share_memory(self, meeting, verdict);
  if (verdict != kGood) {
    throw RuntimeError({.message = "the ranks cannot share memory: " + verdict,
                        .expected = "ranks of one user on one host, in one container",
                        .next = "use the backend gloo, or start the ranks where they can share memory"});
  }
  auto engine = std::make_unique<LocalEngine>(std::move(segment), self.rank);
  engine->barrier(patience);  // the first operation tries out how to move bytes: not at the user's expense
  return engine;
}

}  // namespace lockstep::comm
