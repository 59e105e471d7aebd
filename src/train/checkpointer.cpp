#include "checkpointer.h"

#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/log.h>
#include <lockstep/checkpoint/safetensors_writer.h>
#include <lockstep/checkpoint/writer.h>

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kShareTimeout = std::chrono::minutes(10);  // for all ranks to have written theirs
constexpr auto kLook = std::chrono::milliseconds(20);     // at whether they have

// What rank 0 hears of another rank's share, as files beside it: its record, a manifest of that one file under this
// name, because a share alone would be no manifest; or what went wrong.
constexpr const char* kShare = "share.safetensors";

fs::path record_of(const fs::path& folder, RankId rank) {
  return folder / (checkpoint::training_shard(rank.rank, rank.size) + ".json");
}
fs::path problem_of(const fs::path& folder, RankId rank) {
  return folder / (checkpoint::training_shard(rank.rank, rank.size) + ".problem");
}

void write_share(const fs::path& folder, RankId rank, const Snapshot::Tensors& tensors) {
  try {
    const std::string name = checkpoint::training_shard(rank.rank, rank.size);
    auto file = checkpoint::write_safetensors(folder / name, bytes_of(tensors));
    file.name = kShare;
    files::write_atomically(record_of(folder, rank), to_json(checkpoint::Manifest{.files = {file}}));
  } catch (const std::exception& error) {
    files::write_atomically(problem_of(folder, rank), error.what());
    throw;
  }
}

checkpoint::FileRecord take_record(const fs::path& folder, RankId rank, Clock::time_point deadline) {
  const fs::path record = record_of(folder, rank), problem = problem_of(folder, rank);
  while (!fs::exists(record)) {
    if (fs::exists(problem)) throw RuntimeError({.message = files::read(problem), .rank = rank});
    if (Clock::now() > deadline) {
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

  void write() {
    if (rank.rank != 0) {
      write_share(folder, rank, snapshot.own);
      return;
    }
    writer->write(checkpoint::kModelFile, bytes_of(snapshot.model));
    writer->write(checkpoint::kTrainingFile, bytes_of(snapshot.training));
    if (is_divided) add_shares();
    writer->commit(snapshot.manifest);
    writer.reset();
    const auto pruned = checkpoint::prune(checkpoints, keep);
    if (!pruned.problem.empty()) log::warning("old checkpoints are still there: {}", pruned.problem);
  }

 private:
  void add_shares() {
    writer->write(checkpoint::training_shard(0, rank.size), bytes_of(snapshot.own));
    const auto deadline = Clock::now() + kShareTimeout;
    for (int other = 1; other < rank.size; ++other) {
      writer->add(take_record(folder, {other, rank.size}, deadline));
    }
  }
};

Checkpointer::Checkpointer(Group group, CheckpointOptions options)
    : group_(std::move(group)), options_(std::move(options)) {}

Checkpointer::~Checkpointer() {
  if (writing_.valid()) writing_.wait();
}

fs::path Checkpointer::save(const Snapshot& snapshot) {
  wait();
  step_ = snapshot.manifest.step;
  const auto job = make_job(snapshot);
  if (job && (group_.rank() == 0 || job->is_divided)) {
    writing_ = std::async(std::launch::async, [job] { job->write(); });
    if (!options_.background) wait();
  }
  return options_.folder / std::to_string(step_);
}

void Checkpointer::poll() {
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) wait();
}

void Checkpointer::finish() {
  wait();
  if (group_.rank() == 0 && !problem_.empty()) fail(problem_);
}

// Nothing where rank 0 cannot even begin.
std::shared_ptr<Checkpointer::Job> Checkpointer::make_job(const Snapshot& snapshot) {
  auto job = std::make_shared<Job>();
  std::string problem;
  if (group_.rank() == 0) {
    try {
      job->writer = std::make_unique<checkpoint::Writer>(options_.folder, step_);
      job->folder = job->writer->folder();
    } catch (const Error& error) {
      problem = error.what();
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
    problem_ = error.what();
    tolerate(problem_);
  }
}

void Checkpointer::tolerate(const std::string& problem) const {
  if (group_.rank() != 0) return;  // rank 0 hears of it and decides
  if (!last_good_) fail(problem);
  log::warning("the checkpoint of step {} could not be written: {}; training goes on, the last good one is of step {}",
               step_, problem, *last_good_);
}

void Checkpointer::fail(const std::string& problem) const {
  throw RuntimeError({.message = fmt::format("the checkpoint of step {} could not be written{}", step_,
                                             last_good_ ? "" : ", and there is no other to go back to"),
                      .found = problem,
                      .next = "make room or give the run another folder, then start it again"});
}

}  // namespace lockstep::train
