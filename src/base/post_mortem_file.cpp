#include "post_mortem_file.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/in_short.h>
#include <lockstep/base/log.h>

#include "crash_writer.h"
#include "flight_recorder.h"
#include "host_name.h"
#include "stack_trace.h"

namespace lockstep {
namespace {

// Everything that a crash handler needs, made ready before.
struct Prepared {
  RankId rank;
  FixedText<96> job;
  FixedText<256> host;
  pthread_t thread{};
  std::string folder;
  std::string file;
  std::atomic<bool> written = false;
};
std::atomic<Prepared*> prepared = nullptr;  // lives as long as the process

nlohmann::json to_json(const FlightEntry& entry) {
  return {{"group", entry.group.c_str()},   {"name", entry.name.c_str()}, {"sequence", entry.sequence},
          {"tensor", entry.tensor.c_str()}, {"started", entry.started},   {"ended", entry.ended},
          {"state", to_text(entry.state)}};
}

void write_entry(CrashWriter& out, const FlightEntry& entry) {
  out.next();
  out.open("{");
  out.field("group", entry.group.c_str());
  out.field("name", entry.name.c_str());
  out.field("sequence", entry.sequence);
  out.field("tensor", entry.tensor.c_str());
  out.field("started", entry.started);
  out.field("ended", entry.ended);
  out.field("state", to_text(entry.state));
  out.text("}");
}

// The name as the linker knows it, or the library and the offset in it: nothing here needs memory.
void write_frame(CrashWriter& out, void* frame) {
  Dl_info info{};
  const bool found = ::dladdr(frame, &info) != 0;
  out.next();
  out.text("\"");
  if (found && info.dli_sname != nullptr) {
    out.text(FixedText<240>(info.dli_sname).c_str());
  } else {
    out.text(FixedText<240>(found ? info.dli_fname : "unknown").c_str());
    out.text("+0x");
    out.hexadecimal(
        static_cast<std::uintptr_t>(static_cast<char*>(frame) - static_cast<char*>(found ? info.dli_fbase : nullptr)));
  }
  out.text("\"");
}

void write_crash(const Prepared& ready, const char* reason) {
  ::mkdir(ready.folder.c_str(), 0755);
  const int fd = ::open(ready.file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  CrashWriter out(fd);
  out.open("{");
  out.field("job", ready.job.c_str());
  out.field("rank", ready.rank.rank);
  out.field("size", ready.rank.size);
  out.field("host", ready.host.c_str());
  out.field("pid", ::getpid());
  out.field("reason", reason);
  out.key("stack");
  out.open("[");
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  constexpr int kHandler = 2;  // this function, and the kernel's way into the handler
  for (int i = kHandler; i < count; ++i) write_frame(out, frames[static_cast<std::size_t>(i)]);
  out.text("]");
  out.key("operations");
  out.open("[");
  for (std::size_t i = 0; i < FlightRecorder::kEntries; ++i) {
    const FlightEntry& entry = FlightRecorder::instance().at(i);
    if (entry.ticket != 0) write_entry(out, entry);
  }
  out.text("]}\n");
  ::close(fd);
}

void on_crash(int number) {
  Prepared* const ready = prepared.load();
  if (ready != nullptr && !ready->written.exchange(true)) {
    write_crash(*ready, number == SIGABRT   ? "it was aborted (SIGABRT)"
                        : number == SIGSEGV ? "it touched memory that is not there (SIGSEGV)"
                        : number == SIGBUS  ? "it touched memory that could not be had (SIGBUS)"
                        : number == SIGFPE  ? "it calculated what cannot be (SIGFPE)"
                                            : "it ran into what is no instruction (SIGILL)");
  }
  ::raise(number);  // the default action is back in place
}

void install_handlers() {
  static std::array<char, std::size_t{64} * 1024>
      stack;  // a thread whose own stack has overflowed has no room for a handler
  stack_t alternate{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  ::sigaltstack(&alternate, nullptr);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action = {};
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
    ::sigaction(number, &action, nullptr);
  }
}

std::string content(const Prepared& ready, const std::string& reason) {
  nlohmann::json operations = nlohmann::json::array();
  for (const FlightEntry& entry : FlightRecorder::instance().recent()) operations.push_back(to_json(entry));
  const nlohmann::json value = {{"job", ready.job.c_str()},
                                {"rank", ready.rank.rank},
                                {"size", ready.rank.size},
                                {"host", ready.host.c_str()},
                                {"pid", ::getpid()},
                                {"reason", reason},
                                {"stack", stack_trace_of(ready.thread)},
                                {"operations", operations}};
  return value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

void prepare_post_mortem(RankId rank, const std::string& job) {
  const std::string folder = env::get("LOCKSTEP_POST_MORTEM").value_or("lockstep-post-mortem");
  if (folder == "off" || prepared.load() != nullptr) return;
  auto* ready = new Prepared;
  ready->rank = rank;
  ready->job = FixedText<96>(job);
  ready->host = FixedText<256>(host_name());
  ready->thread = ::pthread_self();
  ready->folder = std::filesystem::absolute(folder).string();
  ready->file = fmt::format("{}/rank-{}.json", ready->folder, rank.rank);
  FlightRecorder::instance();  // made now, not in a handler
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // as is what this loads
  Prepared* expected = nullptr;
  if (!prepared.compare_exchange_strong(expected, ready)) {
    delete ready;
    return;
  }
  install_handlers();
}

std::string write_post_mortem(const std::string& reason) {
  Prepared* const ready = prepared.load();
  if (ready == nullptr) return {};
  if (ready->written.exchange(true)) return ready->file;
  try {
    std::filesystem::create_directories(ready->folder);
    files::write_atomically(ready->file, content(*ready, reason));
    return ready->file;
  } catch (const std::exception& error) {
    log::warning("no post-mortem was written: {}", in_short(error));
    return {};
  }
}

}  // namespace lockstep
