#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <lockstep/base/fd.h>
#include <lockstep/base/rank.h>
#include <lockstep/launch/run.h>

namespace lockstep::launch {

enum class Stream { kOut, kErr };

// Writes what ranks print to this process's own stdout and stderr, and into files, in a thread of its own: a terminal
// that is stopped or a pager that waits does not keep the launcher from looking after its ranks.
class Printer {
 public:
  // Throws UsageError when the folder for files cannot be made.
  explicit Printer(OutputOptions options);
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;
  ~Printer();  // writes all that is left

  // `lines` are whole lines. Never blocks.
  void print(RankId rank, const std::string& host, Stream stream, std::string lines);

  // Words of the launcher's own, on stderr, after all that was printed before. Never blocks.
  void say(const std::string& text);

  // Whether so much waits to be written that the ranks should not be read from now.
  bool is_full() const;

  // Whether nobody reads what is written: the pipe behind stdout or stderr was closed.
  bool is_cut_off() const;

 private:
  struct Item {
    int fd = -1;
    std::string text;
  };

  int log_file(RankId rank, const std::string& host, Stream stream);
  void add(int fd, std::string text);
  void write_all();

  const OutputOptions options_;
  std::map<std::pair<int, Stream>, UniqueFd> files_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::size_t waiting_bytes_ = 0;
  bool cut_off_ = false;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace lockstep::launch
