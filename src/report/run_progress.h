#pragma once
#include <string>
#include <vector>

#include <lockstep/report/data.h>

namespace lockstep::report {

// Where the lines of a run lie on the axes of its curves.
class RunProgress {
 public:
  explicit RunProgress(const std::vector<MetricsRow>& rows);

  // 1 at the end of the first epoch. NaN in the middle of an epoch where no epoch has ended yet, so that nobody knows
  // how long one is.
  double epochs(const MetricsRow& row) const;

  // Since the beginning of what the first line tells of. NaN where the line has no time.
  double seconds(const MetricsRow& row) const { return row.time - start_; }

 private:
  double steps_per_epoch_ = kUnknown;
  double start_ = kUnknown;
};

// What a run came to.
struct RunSummary {
  std::int64_t epochs = 0, steps = 0;
  double ranks = kUnknown, seconds = kUnknown, samples_per_second = kUnknown;
  double test_loss = kUnknown;                         // the last
  double best_top1 = kUnknown, best_epoch = kUnknown;  // of the test set; of training where there is no test
  Split split;                                         // of all the time
};
RunSummary summarize(const TrainingRun& run);

// The lines of training that tell most: of epochs, or of steps where no epoch has ended.
std::vector<MetricsRow> training_rows(const TrainingRun& run);

}  // namespace lockstep::report
