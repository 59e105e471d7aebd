#include "printer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>

#include "lines.h"

namespace lockstep::launch {
namespace {

constexpr std::size_t kMostWaiting = std::size_t{8} << 20;

// Returns errno, or 0 when all was written.
int write_fully(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace

Printer::Printer(OutputOptions options) : options_(std::move(options)) {
  if (!options_.log_dir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options_.log_dir, error);
    if (error) {
      throw UsageError({.message = "cannot make the folder '" + options_.log_dir.string() + "': " + error.message(),
                        .next = "give --log-dir a folder that you may write to"});
    }
  }
  thread_ = std::thread([this] { write_all(); });
}

Printer::~Printer() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Printer::print(RankId rank, const std::string& host, Stream stream, std::string lines) {
  if (!options_.log_dir.empty()) add(log_file(rank, host, stream), lines);
  if (options_.show == OutputOptions::Show::kNone) return;
  if (options_.show == OutputOptions::Show::kFirst && rank.rank != 0) return;
  add(stream == Stream::kOut ? STDOUT_FILENO : STDERR_FILENO,
      options_.label ? with_prefix(rank.label() + " ", lines) : std::move(lines));
}

void Printer::say(const std::string& text) {
  add(STDERR_FILENO, text + "\n");
}

int Printer::log_file(RankId rank, const std::string& host, Stream stream) {
  UniqueFd& file = files_[{rank.rank, stream}];
  if (!file) {
    const auto folder = options_.log_dir / host / std::to_string(rank.rank);
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);  // what is wrong shows when the file is opened
    const auto path = folder / (stream == Stream::kOut ? "stdout" : "stderr");
    file = UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!file) throw system_error("cannot open '" + path.string() + "'", errno);
  }
  return file.get();
}

void Printer::add(int fd, std::string text) {
  {
    const std::lock_guard lock(mutex_);
    waiting_bytes_ += text.size();
    items_.push_back({.fd = fd, .text = std::move(text)});
  }
  changed_.notify_one();
}

bool Printer::is_full() const {
  const std::lock_guard lock(mutex_);
  return waiting_bytes_ > kMostWaiting;
}

bool Printer::is_cut_off() const {
  const std::lock_guard lock(mutex_);
  return cut_off_;
}

void Printer::write_all() {
  std::unique_lock lock(mutex_);
  bool told = false;
  for (;;) {
    changed_.wait(lock, [this] { return !items_.empty() || ended_; });
    if (items_.empty()) return;
    const Item item = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    const int error = write_fully(item.fd, item.text);
    lock.lock();
    waiting_bytes_ -= item.text.size();
    if (error == 0) continue;
    cut_off_ = cut_off_ || item.fd == STDOUT_FILENO || item.fd == STDERR_FILENO;
    if (!told && error != EPIPE) log::warning("output of ranks is lost: {}", system_error("write", error).what());
    told = true;
  }
}

}  // namespace lockstep::launch
