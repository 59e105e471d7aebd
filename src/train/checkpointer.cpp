#include "checkpointer.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <ATen/ops/isfinite.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/in_short.h>
#include <lockstep/base/log.h>
#include <lockstep/checkpoint/safetensors_writer.h>
#include <lockstep/checkpoint/writer.h>

#include "together.h"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kShareTimeout = std::chrono::minutes(5);  // for all ranks to have written theirs
constexpr auto kLook = std::chrono::milliseconds(20);    // at whether they have

// What rank 0 hears of another rank's share, as files beside it: its record, a manifest of that one file under this
// name, because a share alone would be no manifest; or what went wrong.
constexpr const char* kShare = "share.safetensors";

fs::path record_of(const fs::path& folder, RankId rank) {
  return folder / (checkpoint::training_shard(rank.rank, rank.size) + ".json");
}
fs::path problem_of(const fs::path& folder, RankId rank) {
  return folder / (checkpoint::training_shard(rank.rank, rank.size) + ".problem");
}

// A model that is not finite is of no use, and must not take the place of one that is.
void require_finite(const Snapshot::Tensors& model) {
  for (const auto& [name, tensor] : model) {
    if (tensor.is_floating_point() && !at::isfinite(tensor).all().item<bool>()) {
      throw RuntimeError(fmt::format("'{}' is not finite", name));
    }
  }
}

void write_share(const fs::path& folder, RankId rank, const Snapshot::Tensors& tensors) {
  try {
    const std::string name = checkpoint::training_shard(rank.rank, rank.size);
    auto file = checkpoint::write_safetensors(folder / name, bytes_of(tensors));
    file.name = kShare;
    files::write_atomically(record_of(folder, rank), to_json(checkpoint::Manifest{.files = {file}}));
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove(folder / checkpoint::training_shard(rank.rank, rank.size), ignored);  // makes room for the next line
    files::write_atomically(problem_of(folder, rank), in_short(error));
    throw;
  }
}

checkpoint::FileRecord take_record(const fs::path& folder, RankId rank, Clock::time_point deadline,
                                   const std::atomic<bool>& is_given_up) {
  const fs::path record = record_of(folder, rank), problem = problem_of(folder, rank);
  while (!fs::exists(record)) {
    if (fs::exists(problem)) throw RuntimeError({.message = files::read(problem), .rank = rank});
    if (Clock::now() > deadline || is_given_up) {
      throw TimeoutError({.message = fmt::format("rank {} has not written its share", rank.rank),
                          .found = fmt::format("no {}", record.string())});
    }
    std::this_thread::sleep_for(kLook);
  }
  auto file = checkpoint::parse_manifest(files::read(record), record.string()).files.at(0);
  file.name = checkpoint::training_shard(rank.rank, rank.size);
  fs::remove(record);
  return file;
}

}  // namespace

// All that the thread needs, and nobody else has.
struct Checkpointer::Job {
  std::unique_ptr<checkpoint::Writer> writer;  // of rank 0
  fs::path checkpoints, folder;                // `folder` is the writer's
  checkpoint::Keep keep;
  RankId rank;
  bool is_divided = false;
  Snapshot snapshot;
  std::atomic<bool> is_given_up = false;

  void write() {
    if (rank.rank != 0) {
      write_share(folder, rank, snapshot.own);
      return;
    }
    require_finite(snapshot.model);
    writer->write(checkpoint::kModelFile, bytes_of(snapshot.model));
    writer->write(checkpoint::kTrainingFile, bytes_of(snapshot.training));
    if (is_divided) add_shares();
    writer->commit(snapshot.manifest);
    writer.reset();
    prune();
  }

 private:
  // The checkpoint is there, whatever becomes of the old ones.
  void prune() const {
    std::string problem;
    try {
      problem = checkpoint::prune(checkpoints, keep).problem;
    } catch (const Error& error) {
      problem = in_short(error);
    }
    if (!problem.empty()) log::warning("old checkpoints are still there: {}", problem);
  }

  void add_shares() {
    writer->write(checkpoint::training_shard(0, rank.size), bytes_of(snapshot.own));
    const auto deadline = Clock::now() + kShareTimeout;
    for (int other = 1; other < rank.size; ++other) {
      writer->add(take_record(folder, {other, rank.size}, deadline, is_given_up));
    }
  }
};

Checkpointer::Checkpointer(Group group, CheckpointOptions options)
    : group_(std::move(group)), options_(std::move(options)) {
  together(group_, [&] {
    checkpoint::superfluous({}, options_.keep);  // throws for what makes no sense
    if (group_.rank() != 0) return;
    std::error_code error;
    fs::create_directories(options_.folder, error);
    if (error || ::access(options_.folder.c_str(), W_OK) != 0) {
      throw RuntimeError({.message = fmt::format("cannot write checkpoints to '{}'", options_.folder.string()),
                          .found = error ? error.message() : std::strerror(errno)});
    }
  });
}

Checkpointer::~Checkpointer() {
  if (!writing_.valid()) return;
  job_->is_given_up = true;  // ranks that are gone write nothing any more
  writing_.wait();
}

fs::path Checkpointer::save(const Snapshot& snapshot) {
  wait();
  step_ = snapshot.manifest.step;
  job_ = make_job(snapshot);
  if (job_ && (group_.rank() == 0 || job_->is_divided)) {
    writing_ = std::async(std::launch::async, [job = job_] { job->write(); });
    if (!options_.background) wait();
  }
  return options_.folder / std::to_string(step_);
}

void Checkpointer::poll() {
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) wait();
}

Checkpointer::Written Checkpointer::finish() {
  wait();
  const auto told = group_.broadcast_json({{"good", last_good_.value_or(-1)}, {"problem", problem_}});
  Written written{.problem = told.at("problem").get<std::string>()};
  if (const auto good = told.at("good").get<std::int64_t>(); good >= 0) written.last_good = good;
  return written;
}

void Checkpointer::go_on_from(std::int64_t step) {
  last_good_ = step;
  together(group_, [&] {
    if (group_.rank() != 0) return;
    const auto aside = checkpoint::set_newer_aside(options_.folder, step);
    if (aside)
      log::info("checkpoints after step {} are of a run that was left behind; they are now in {}", step,
                aside->string());
  });
}

// Nothing where rank 0 cannot even begin.
std::shared_ptr<Checkpointer::Job> Checkpointer::make_job(const Snapshot& snapshot) {
  auto job = std::make_shared<Job>();
  std::string problem;
  if (group_.rank() == 0) {
    try {
      job->writer = std::make_unique<checkpoint::Writer>(options_.folder, step_);
      job->folder = job->writer->folder();
    } catch (const std::exception& error) {
      problem = in_short(error);
    }
  }
  job->folder = group_.broadcast_text(job->folder.string());
  job->is_divided = group_.all_reduce_value(static_cast<std::int64_t>(snapshot.own.size()), Reduce::kMax) > 0;
  if (job->folder.empty()) {
    problem_ = problem;
    tolerate(problem);
    return nullptr;
  }
  job->checkpoints = options_.folder;
  job->keep = options_.keep;
  job->rank = group_.id();
  job->snapshot = {.manifest = snapshot.manifest,
                   .model = copy_to_cpu(snapshot.model),
                   .training = copy_to_cpu(snapshot.training),
                   .own = copy_to_cpu(snapshot.own)};
  return job;
}

void Checkpointer::wait() {
  if (!writing_.valid()) return;
  try {
    writing_.get();
    problem_.clear();
    last_good_ = step_;
  } catch (const std::exception& error) {
    problem_ = in_short(error);
    job_.reset();  // its writer has the lock that the next one needs
    tolerate(problem_);
  }
}

void Checkpointer::tolerate(const std::string& problem) {
  if (group_.rank() != 0) return;  // rank 0 hears of it and decides
  if (!last_good_) throw unwritten(step_, problem, /*has_other=*/false);
  log::warning("the checkpoint of step {} could not be written: {}; training goes on, the last good one is of step {}",
               step_, problem, *last_good_);
}

RuntimeError unwritten(std::int64_t step, const std::string& problem, bool has_other) {
  return RuntimeError({.message = fmt::format("the checkpoint of step {} could not be written{}", step,
                                              has_other ? "" : ", and there is no other to go back to"),
                       .found = problem,
                       .next = "make room or give the run another folder, then start it again"});
}

}  // namespace lockstep::train
