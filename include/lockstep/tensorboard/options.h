// What a SummaryWriter and its calls take besides their data. Defaults are those of tensorboardX and
// torch.utils.tensorboard.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <lockstep/base/rank.h>

namespace lockstep::tensorboard {

// When a value belongs: a step of training, and the time of day. A number will do: add_scalar("loss", loss, 12).
struct When {
  When() = default;
  When(std::int64_t at_step) : step(at_step) {}  // NOLINT(google-explicit-constructor)
  When(std::optional<std::int64_t> at_step, std::chrono::system_clock::time_point at_time)
      : step(at_step), time(at_time) {}

  std::optional<std::int64_t> step;                           // none: written as 0
  std::optional<std::chrono::system_clock::time_point> time;  // none: now
};

// Which ranks of a job write.
enum class WritingRanks {
  kFirst,  // rank 0; calls of the others do nothing
  kEvery,  // each into a sub-folder of its own, rank-0, rank-1 and so on: TensorBoard shows them as runs
};

// What happens when events cannot be written, on a full disk for example. They are lost in both cases; those that were
// written before, and those that come when there is space again, are not.
enum class WriteErrors {
  kWarn,   // the log says it, once for each time that writing begins to fail, and training goes on
  kThrow,  // the next add, flush() or close() throws RuntimeError
};

struct SummaryWriterOptions {
  RankId rank = {};  // of this process: world.id(), or the default for a program of one
  WritingRanks ranks = WritingRanks::kFirst;
  // Events wait in memory until there are so many of them, or until the oldest has waited so long.
  int max_queue = 10;
  std::chrono::milliseconds flush_interval = std::chrono::minutes(2);
  // A run that goes on from a checkpoint at this step: TensorBoard then hides what was written for it and later ones
  // before the interruption.
  std::optional<std::int64_t> purge_step = {};
  std::string filename_suffix = {};
  WriteErrors write_errors = WriteErrors::kWarn;
  // How long a call waits for a disk that does not answer, before it gives up events as above.
  std::chrono::milliseconds timeout = std::chrono::minutes(1);
};

struct HistogramOptions {
  // The edges of bins, ascending; at least two. Empty: TensorFlow's, which grow by a tenth from 1e-12 to 1e20 on both
  // sides of 0.
  std::vector<double> edges = {};
  int equal_bins = 0;  // instead of edges: so many bins of one width between the least and the greatest value
  int max_bins = 0;    // more bins than that are joined; 0: never
};

// A histogram that was counted elsewhere. Bucket i holds what lies above limits[i - 1] and not above limits[i].
struct RawHistogram {
  double min = 0, max = 0, num = 0, sum = 0, sum_squares = 0;
  std::vector<double> bucket_limits = {}, bucket_counts = {};
};

struct BoxOptions {
  std::vector<std::string> labels = {};  // one for each box, or none
  std::string dataformats = "CHW";
};

struct VideoOptions {
  double fps = 4;
  std::string dataformats = "NTCHW";
};

using HparamValue = std::variant<bool, std::int64_t, double, std::string>;
using Hparams = std::map<std::string, HparamValue>;

struct HparamOptions {
  std::string run_name = {};                                     // of the sub-folder; empty: the time
  std::map<std::string, std::vector<HparamValue>> domains = {};  // all values that a parameter may have
};

// One chart of the dashboard Custom Scalars.
struct CustomChart {
  enum class Kind { kMultiline, kMargin };
  std::string title;
  Kind kind = Kind::kMultiline;
  std::vector<std::string> tags;  // regular expressions; of a margin chart three: value, lower, upper
};

struct CustomCategory {
  std::string title;
  std::vector<CustomChart> charts;
};

}  // namespace lockstep::tensorboard
