#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <lockstep/base/fd.h>
#include <lockstep/base/rank_page.h>
#include <lockstep/launch/child.h>
#include <lockstep/launch/pipe.h>

#include "event_loop.h"
#include "lines.h"
#include "rank_events.h"

namespace lockstep::launch {

struct RankProcessOptions {
  int rank = 0;
  ChildOptions child;                 // its output and its page are arranged here
  std::chrono::seconds heartbeat{0};  // silent for longer, it counts as stuck; 0: never
};

// One rank on this node: its process, what it prints, and the page on which it says what it does.
class RankProcess {
 public:
  // Starts it. `listener` hears of it from within `loop`'s callbacks and `check`.
  RankProcess(const RankProcessOptions& options, EventLoop& loop, RankListener& listener);
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;
  ~RankProcess();

  // Notes its end, if it has come.
  void poll();

  // Tells the listener when it has been stopped or silent for too long. Call about once a second.
  void check();

  // Whether its output is read; while it is not, it waits when it has much to say.
  void read_output(bool on);

  void signal(int number);
  bool running() const { return child_.running(); }

 private:
  struct OutputPipe : Pipe {
    OutputPipe();
    LineAssembler lines;
  };
  static ChildOptions with_pipes(const RankProcessOptions& options, const OutputPipe& out, const OutputPipe& err,
                                 int page);

  void watch(OutputPipe& pipe, Stream stream);
  void read_some(OutputPipe& pipe, Stream stream);
  void read_rest(OutputPipe& pipe, Stream stream);
  void close(OutputPipe& pipe, Stream stream);
  void pass_on(Stream stream, std::string lines);
  void note_life();
  void tell(const std::string& how, Clock::time_point since, const std::string& state, bool fatal);
  std::string doing() const;

  const int rank_;
  const std::chrono::seconds heartbeat_;
  EventLoop& loop_;
  RankListener& listener_;
  RankPage page_;
  OutputPipe out_;
  OutputPipe err_;
  Tail tail_{20};
  Child child_;
  bool asked_ = false;
  std::int64_t kills_for_memory_ = 0;

  std::uint64_t beats_ = 0;
  Clock::time_point last_life_ = Clock::now();
  std::optional<Clock::time_point> stopped_since_;
  bool was_stopped_ = false;  // since its last sign of life
  bool told_of_stop_ = false;
  bool told_of_silence_ = false;
};

}  // namespace lockstep::launch
