// A page of memory that a rank shares with its launcher. The rank writes there what it is doing and what went wrong;
// the launcher reads it, also when the rank is stopped, stuck or dead.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lockstep/base/fd.h>

namespace lockstep {

class RankPage {
 public:
  // A new page; the launcher lets the rank inherit `fd` and names it in LOCKSTEP_RANK_PAGE_FD. It is close-on-exec.
  // Throws RuntimeError when there is no memory for it.
  RankPage();

  // The page that this process's launcher has given it, or nothing.
  static RankPage* of_this_process();

  RankPage(const RankPage&) = delete;
  RankPage& operator=(const RankPage&) = delete;
  ~RankPage();

  int fd() const { return fd_.get(); }

  // The rank's side: any thread, no system call. Long texts are cut.
  void begin(std::string_view operation, std::uint64_t sequence, std::string_view tensor);
  void end();
  void blame(int rank);  // another rank was lost
  void fail(std::string_view message);

  // The launcher's side. The rank may write meanwhile, or nonsense: nothing here trusts it.
  struct Reading {
    std::uint64_t beats = 0;         // grows with each collective that begins or ends
    std::string doing;               // "all_reduce #1841 (float32[10])", or empty
    bool done = false;               // ... which it has finished
    double seconds = 0;              // since that began or ended
    std::string error;               // the error that ends the rank, as a person reads it
    std::optional<int> blamed_rank;  // the first rank that it knows to be lost
  };
  Reading read() const;

 private:
  struct Content;
  explicit RankPage(UniqueFd fd);
  static std::optional<UniqueFd> inherited();

  UniqueFd fd_;
  Content* content_ = nullptr;
};

}  // namespace lockstep
