#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace lockstep::hvd {

// A list of lines in the job's store that every rank appends to and reads from its start: all see the same lines in the
// same order. Lines that all ranks have read are removed by who wrote them.
class Journal {
 public:
  Journal(const c10::intrusive_ptr<c10d::Store>& store, int ranks);

  void append(const std::string& line);

  // The next line, waiting for it as long as `patience`.
  std::optional<std::string> next(std::chrono::milliseconds patience);

  // How many lines this rank has read; to be told to the others, in a line, from time to time.
  std::int64_t position() const { return position_; }
  void others_position(int rank, std::int64_t position);

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  std::int64_t position_ = 0;
  std::vector<std::int64_t> positions_;  // of all ranks, as they told
  std::deque<std::int64_t> own_;         // numbers of the lines that this rank wrote and that are still there
};

}  // namespace lockstep::hvd
