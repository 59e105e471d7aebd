// How long a training step takes, on one batch of random numbers again and again, or on pictures.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/bench/operations.h>
#include <lockstep/comm/group.h>
#include <lockstep/gpu/ranges.h>
#include <lockstep/gpu/settings.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/nn/model.h>
#include <lockstep/trace/anatomy.h>
#include <lockstep/trace/summary.h>
#include <lockstep/train/mode.h>

namespace lockstep::bench {

// How a step is carried out.
struct Recipe {
  std::string precision = "fp32";  // what amp::parse_precision takes
  bool channels_last = true;       // for pictures and volumes
  bool fused_optimizer = true;     // ours; else libtorch's own, parameter by parameter
  bool graph = false;              // as a CUDA graph, with everything in it
  gpu::Settings settings = {.tf32_matmul = true, .autotune = true};
  int threads = 0;  // of the CPU; 0: as many as the rank has
  kernels::Engine engine = kernels::Engine::kFused;
};

// Some steps of all, counted from 0, the first ones that warm up included.
struct StepRange {
  std::int64_t first = 0, count = 0;
};

// "20:5": five steps from the twenty-first on. UsageError for another form.
StepRange parse_step_range(const std::string& text);

struct StepOptions {
  std::string model = "resnet50";
  nn::ModelOptions model_options = {};
  std::int64_t batch = 32;  // of each rank
  at::Device device = at::kCPU;
  Recipe recipe = {};
  std::vector<train::Mode> modes = {train::Mode::kDdp};
  int rounds = 5;
  std::chrono::duration<double> time_per_round = std::chrono::seconds(2);
  std::string pictures;         // a set that data::open_pictures knows, for models of pictures; empty: random numbers
  int workers = 2;              // that load them
  gpu::Ranges::Options ranges;  // of each step, on the time line of a profiler
  // What profilers collect: the last round, or some steps of the first mode.
  bool profile = false;
  std::optional<StepRange> profiled_steps;
  // A timeline of some steps of the first mode, which go on until these are done.
  std::optional<trace::StepWindow> traced_steps;
  std::string trace_file;
  // Look also at the parts of a step, in a few more steps of the last mode.
  bool anatomy = false;
  // On a CPU: look also at every operation, in a few more steps of the last mode.
  bool operations = false;
};

// Where the time of the steps went, as parts of it. What communication is hidden behind backward counts as compute; so
// does all of it where it is not known: on GPUs, and in other modes than ddp and zero.
struct StepSplit {
  double data = 0, compute = 1;
  std::optional<double> communication;
};

struct StepRow {
  train::Mode mode = train::Mode::kNone;
  double samples_per_second = 0;                       // of all ranks together, in the median round
  double least = 0, greatest = 0;                      // of the rounds
  double milliseconds = 0;                             // of a step, in the median round
  double kept = 1, kept_least = 1, kept_greatest = 1;  // of the first mode's speed in the same round, and its spread
  std::optional<double> hidden;                        // of the communication, behind backward
  StepSplit split;                                     // of rank 0
  std::optional<trace::Anatomy> anatomy;               // of rank 0, where it was asked for
  std::optional<Operations> operations;                // of rank 0, where it was asked for
  std::optional<trace::Summary> trace;                 // on rank 0, where it was asked for
};

// Collective. Each mode trains a model of its own with momentum SGD, the modes take turns in every round, so that what
// else the machine does meets all of them alike. Throws UsageError for an unknown model, for a mode or a recipe that
// does not fit the group or the device, and for a batch that does not fit into a GPU's memory, with an estimate of one
// that would; RuntimeError on rank 0 for a timeline that cannot be written.
std::vector<StepRow> measure_step(const Group& group, const StepOptions& options);

}  // namespace lockstep::bench
