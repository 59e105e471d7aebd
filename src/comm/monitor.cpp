#include "monitor.h"

#include <pthread.h>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>

#include "../base/flight_recorder.h"
#include "../base/post_mortem_file.h"
#include "../base/stack_trace.h"

namespace lockstep::comm {
namespace {

constexpr auto kRound = std::chrono::seconds(1);

// The questions to a rank are numbered from 1.
std::string question_key(int rank, std::int64_t question) {
  return fmt::format("question/{}/{}", rank, question);
}
std::string answer_key(int rank, std::int64_t question) {
  return fmt::format("answer/{}/{}", rank, question);
}
std::int64_t post_question(c10d::Store& store, int rank, const nlohmann::json& asked) {
  const std::int64_t question = store.add(fmt::format("questions/{}", rank), 1);
  store.set(question_key(rank, question), asked.dump());
  return question;
}

std::chrono::seconds read_stall_time() {
  constexpr std::int64_t kUsual = 30, kMost = 1'000'000;
  return std::chrono::seconds(env::get_int("LOCKSTEP_STALL_SECONDS", 0, kMost).value_or(kUsual));
}

// The functions that tell where a program is: not those of the C library and of this one, in which it waits.
std::string short_stack(pthread_t thread) {
  constexpr std::size_t kFrames = 4, kLength = 60;
  std::string text;
  std::size_t count = 0;
  for (const std::string& frame : stack_trace_of(thread)) {
    if (frame.starts_with("/") || frame.starts_with("std::") || frame.starts_with("0x")) continue;
    text += (count == 0 ? "" : " < ") + frame.substr(0, std::min(frame.find('('), kLength));
    if (++count == kFrames) break;
  }
  return text;
}

bool is_there(c10d::Store& store, const std::string& key, std::chrono::milliseconds patience) {
  try {
    store.wait({key}, patience);
    return true;
  } catch (const std::exception&) {
    return store.check({key});  // throws when it was not the time that ran out
  }
}

Whereabouts last_in(const std::string& group) {
  Whereabouts result;
  for (const FlightEntry& entry : FlightRecorder::instance().recent()) {
    if (entry.sequence < result.sequence || entry.sequence == 0 || entry.group.c_str() != group) continue;
    result.sequence = entry.sequence;
    const Operation operation{entry.name.c_str(), entry.sequence, entry.tensor.c_str()};
    result.call = operation.describe();
    result.state = to_text(entry.state);
  }
  return result;
}

// With a connection of its own.
c10::intrusive_ptr<c10d::Store> open(c10d::Store& store) {
  return c10::make_intrusive<c10d::PrefixStore>("lockstep/monitor/", store.clone());
}

}  // namespace

Monitor::Monitor(c10d::Store& store, RankId rank, std::shared_ptr<const LossFlag> loss)
    : rank_(rank),
      loss_(std::move(loss)),
      main_thread_(::pthread_self()),
      stall_time_(read_stall_time()),
      answers_(open(store)),
      questions_(open(store)) {
  thread_ = std::thread([this] { loop(); });
  ::pthread_setname_np(thread_.native_handle(), "ls-monitor");
}

Monitor::~Monitor() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  try {
    // A question to this rank, to wake the thread.
    post_question(*questions_, rank_.rank, {{"group", ""}, {"end", false}, {"rank", rank_.rank}});
  } catch (const std::exception& error) {
    log::debug("the store is gone before the monitor: {}", error.what());
  }
  thread_.join();
  if (stall_report_.joinable()) stall_report_.join();
}

void Monitor::watch(const std::string& group, std::vector<int> world_ranks) {
  const std::lock_guard lock(mutex_);
  groups_[group] = std::move(world_ranks);
}

void Monitor::forget(const std::string& group) {
  const std::lock_guard lock(mutex_);
  groups_.erase(group);
}

void Monitor::loop() {
  std::int64_t answered = 0;
  const auto is_ending = [this] {
    const std::lock_guard lock(mutex_);
    return ending_;
  };
  try {
    while (!is_ending() && !loss_->raised()) {
      if (is_there(*answers_, question_key(rank_.rank, answered + 1), kRound)) answer(++answered);
      look_for_stall();
    }
  } catch (const std::exception& error) {
    log::debug("the store is gone, and with it the monitor: {}", error.what());
  }
  if (loss_->raised()) write_post_mortem(loss_->reason());
}

void Monitor::answer(std::int64_t question) {
  const auto asked = nlohmann::json::parse(answers_->get_to_str(question_key(rank_.rank, question)));
  const Whereabouts mine = last_in(asked.at("group"));
  const nlohmann::json told = {
      {"sequence", mine.sequence}, {"call", mine.call}, {"state", mine.state}, {"stack", short_stack(main_thread_)}};
  answers_->set(answer_key(rank_.rank, question), told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (asked.at("end")) write_post_mortem(fmt::format("rank {} gave up waiting", asked.at("rank").get<int>()));
}

std::map<int, Whereabouts> Monitor::ask(const std::string& group, bool is_end, std::chrono::milliseconds patience) {
  const std::lock_guard lock(asking_);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const nlohmann::json asked = {{"group", group}, {"end", is_end}, {"rank", rank_.rank}};
  std::map<int, std::int64_t> questions;
  nlohmann::json asked_of_self = asked;
  asked_of_self["end"] = false;  // who asks writes its own post-mortem, with the reason
  for (int rank = 0; rank < rank_.size; ++rank) {
    questions[rank] = post_question(*questions_, rank, rank == rank_.rank ? asked_of_self : asked);
  }
  std::map<int, Whereabouts> result;
  for (const auto& [rank, question] : questions) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const std::string key = answer_key(rank, question);
    if (!is_there(*questions_, key, std::max(left, std::chrono::milliseconds(1)))) continue;
    const auto told = nlohmann::json::parse(questions_->get_to_str(key));
    result[rank] = {told.at("sequence"), told.at("call"), told.at("state"), told.at("stack")};
  }
  return result;
}

void Monitor::look_for_stall() {
  if (stall_time_.count() == 0) return;
  for (const FlightEntry& entry : FlightRecorder::instance().recent()) {
    const bool stalled =
        entry.state == FlightEntry::State::kRunning && entry.sequence != 0 && entry.age() > stall_time_;
    if (!stalled || entry.ticket <= reported_) continue;
    reported_ = entry.ticket;
    report_stall(entry.group.c_str(), {entry.name.c_str(), entry.sequence, entry.tensor.c_str()}, entry.age());
  }
}

void Monitor::report_stall(const std::string& group, const Operation& operation, std::chrono::duration<double> age) {
  std::vector<int> members;
  {
    const std::lock_guard lock(mutex_);
    const auto found = groups_.find(group);
    if (found == groups_.end()) return;
    members = found->second;
  }
  if (answers_->add(fmt::format("stall/{}/{}", group, operation.sequence), 1) != 1) return;  // another rank has said it
  // Asked in a thread of its own: this one has to answer, too.
  if (stall_report_.joinable()) stall_report_.join();
  stall_report_ = std::thread([this, group, operation, age, members] {
    const std::string what = fmt::format("stalled: {} has waited for {}", operation.describe(), format_duration(age));
    try {
      const std::string others = describe_others(ask(group, false), members, operation);
      log::error("{}; {}", what, others.empty() ? "all ranks have arrived" : others);
    } catch (const std::exception& error) {
      log::error("{}; the other ranks cannot be asked: {}", what, error.what());
    }
  });
}

std::string describe_others(const std::map<int, Whereabouts>& whereabouts, const std::vector<int>& members,
                            const Operation& operation) {
  std::vector<std::string> sentences;
  for (const int rank : members) {
    const auto found = whereabouts.find(rank);
    if (found == whereabouts.end()) {
      sentences.push_back(fmt::format("rank {} does not answer", rank));
      continue;
    }
    const Whereabouts& place = found->second;
    const std::string where = place.stack.empty() ? "" : ", and it is in " + place.stack;
    if (place.sequence == 0) {
      sentences.push_back(fmt::format("rank {} has not arrived: it has made no call yet{}", rank, where));
    } else if (place.sequence < operation.sequence) {
      sentences.push_back(
          fmt::format("rank {} has not arrived: its last call was {}, {}{}", rank, place.call, place.state, where));
    } else if (place.sequence == operation.sequence && place.call != operation.describe()) {
      sentences.push_back(fmt::format("rank {} went another way: {}", rank, place.call));
    }
  }
  return fmt::format("{}", fmt::join(sentences, "; "));
}

}  // namespace lockstep::comm
