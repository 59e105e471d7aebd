#include "run_set.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "event.pb.h"
#include "tag.h"

namespace lockstep::tensorboard {
namespace {

std::filesystem::path folder_of_rank(std::filesystem::path folder, const SummaryWriterOptions& options) {
  if (options.ranks == WritingRanks::kFirst) return folder;
  return folder / fmt::format("rank-{}", options.rank.rank);
}

// The name of a sub-folder, which must not lead out of the folder.
std::string sub_folder(const std::string& name) {
  std::string cleaned = clean_tag(name, TagCharacters::kPrintable);
  cleaned.erase(0, cleaned.find_first_not_of('/'));
  const std::vector<std::string> parts = split(cleaned, '/');
  if (cleaned.empty() ||
      std::ranges::any_of(parts, [](const std::string& part) { return part == "." || part == ".."; })) {
    throw UsageError({.message = "this cannot be the name of a run for TensorBoard",
                      .found = fmt::format("'{}'", name),
                      .expected = "the name of a sub-folder"});
  }
  return cleaned;
}

std::string with_time(const std::string& event, const When& when) {
  proto::Event moment;
  moment.set_wall_time(seconds(when));
  moment.set_step(when.step.value_or(0));
  return moment.SerializeAsString() + event;
}

void check_options(const SummaryWriterOptions& options) {
  if (options.max_queue < 1) {
    throw UsageError({.message = "max_queue of a SummaryWriter is too small",
                      .found = fmt::format("{}", options.max_queue),
                      .expected = "at least 1"});
  }
}

}  // namespace

double seconds(const When& when) {
  const auto time = when.time.value_or(std::chrono::system_clock::now());
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

RunSet::RunSet(std::filesystem::path folder, const SummaryWriterOptions& options, bool writes)
    : folder_(folder_of_rank(std::move(folder), options)), options_(options) {
  check_options(options);
  if (writes) run("");
}

EventWriter& RunSet::run(const std::string& name) {
  const auto found = runs_.find(name);
  if (found != runs_.end()) return *found->second;
  auto writer = std::make_unique<EventWriter>(name.empty() ? folder_ : folder_ / name,
                                              EventWriterOptions{.max_queue = options_.max_queue,
                                                                 .flush_interval = options_.flush_interval,
                                                                 .timeout = options_.timeout,
                                                                 .suffix = options_.filename_suffix});
  if (options_.purge_step) {
    proto::Event version, start;
    version.set_file_version("brain.Event:2");
    start.mutable_session_log()->set_status(proto::SessionLog::START);
    for (const proto::Event& event : {version, start})
      writer->add(with_time(event.SerializeAsString(), *options_.purge_step));
  }
  return *runs_.emplace(name, std::move(writer)).first->second;
}

void RunSet::add(const EventBody& event, const When& when) {
  write("", event, when);
}

void RunSet::add_to_run(const std::string& name, const EventBody& event, const When& when) {
  write(sub_folder(name), event, when);
}

void RunSet::write(const std::string& name, const EventBody& event, const When& when) {
  const std::string record = with_time(event.bytes, when);
  EventWriter* writer = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) throw UsageError("this SummaryWriter is closed");
    writer = &run(name);
  }
  writer->add(record);
  check(*writer);
}

void RunSet::check(EventWriter& writer) const {
  if (options_.write_errors == WriteErrors::kWarn) return;
  const std::string problem = writer.take_problem();
  if (problem.empty()) return;
  throw RuntimeError({.message = "events for TensorBoard were lost",
                      .found = problem,
                      .next = "make space, or let the writer warn (WriteErrors::kWarn)"});
}

void RunSet::close_run(const std::string& name) {
  std::unique_ptr<EventWriter> writer;
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.extract(sub_folder(name));
    if (found.empty()) return;
    writer = std::move(found.mapped());
  }
  writer->close();
  check(*writer);
}

void RunSet::require_open() const {
  const std::lock_guard lock(mutex_);
  if (closed_) throw UsageError("this SummaryWriter is closed");
}

void RunSet::flush() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, writer] : runs_) writer->flush();
  for (auto& [name, writer] : runs_) check(*writer);
}

void RunSet::close() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(closed_, true)) return;
  for (auto& [name, writer] : runs_) writer->close();
  for (auto& [name, writer] : runs_) check(*writer);
}

}  // namespace lockstep::tensorboard
