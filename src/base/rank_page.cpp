#include <lockstep/base/rank_page.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep {
namespace {

constexpr const char* kName = "lockstep-rank-page";
constexpr std::size_t kOperationSize = 160;
constexpr std::size_t kErrorSize = 3600;

// One clock for all processes of a host.
std::int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <std::size_t Size>
void put(std::array<char, Size>& place, std::string_view text) {
  const std::size_t length = std::min(text.size(), Size - 1);
  std::copy_n(text.data(), length, place.data());
  place[length] = '\0';
}

template <std::size_t Size>
std::string take(const std::array<char, Size>& place, bool keep_newlines) {
  const auto end = std::find(place.begin(), place.end(), '\0');
  return escape_controls(std::string(place.begin(), end), keep_newlines);
}

}  // namespace

struct RankPage::Content {
  std::atomic<std::uint64_t> beats;
  std::atomic<std::int64_t> changed;  // now() at the last beat
  std::atomic<int> running;
  std::atomic<int> blamed;  // rank + 1
  std::atomic_flag busy;    // one thread writes texts at a time; a thread that finds another at it leaves its own out
  std::array<char, kOperationSize> operation;
  std::array<char, kErrorSize> error;
};

RankPage::RankPage() : RankPage(UniqueFd(::memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING))) {}

RankPage::RankPage(UniqueFd fd) : fd_(std::move(fd)) {
  static_assert(sizeof(Content) <= 4096);
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;  // nobody can pull the memory away
  const bool ready = fd_ && ::ftruncate(fd_.get(), sizeof(Content)) == 0 &&
                     (::fcntl(fd_.get(), F_GET_SEALS) == kSeals || ::fcntl(fd_.get(), F_ADD_SEALS, kSeals) == 0);
  void* memory =
      ready ? ::mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0) : MAP_FAILED;
  if (memory == MAP_FAILED) throw system_error("cannot share memory with a rank", errno);
  content_ = static_cast<Content*>(memory);  // zeros, which is what its members begin with
}

RankPage::~RankPage() {
  ::munmap(content_, sizeof(Content));
}

// A program between launcher and rank may have closed the descriptor, and another file may have its number now.
std::optional<UniqueFd> RankPage::inherited() {
  const auto number = env::get_int("LOCKSTEP_RANK_PAGE_FD", 3, 1 << 20);
  if (!number) return std::nullopt;
  std::array<char, 64> target{};
  const std::string link = fmt::format("/proc/self/fd/{}", *number);
  if (::readlink(link.c_str(), target.data(), target.size() - 1) < 0) return std::nullopt;
  if (std::string_view(target.data()) != fmt::format("/memfd:{} (deleted)", kName)) return std::nullopt;
  return UniqueFd(::fcntl(static_cast<int>(*number), F_DUPFD_CLOEXEC, 3));
}

RankPage* RankPage::of_this_process() {
  static const std::unique_ptr<RankPage> page = []() -> std::unique_ptr<RankPage> {
    try {
      auto fd = inherited();
      return fd ? std::unique_ptr<RankPage>(new RankPage(std::move(*fd))) : nullptr;
    } catch (const Error&) {
      return nullptr;  // a convenience that is not worth a failure
    }
  }();
  return page.get();
}

void RankPage::begin(std::string_view operation, std::uint64_t sequence, std::string_view tensor) {
  if (!content_->busy.test_and_set(std::memory_order_acquire)) {
    std::array<char, kOperationSize> text{};
    const auto end = sequence != 0 ? fmt::format_to_n(text.begin(), kOperationSize - 1, "{} #{}", operation, sequence)
                                   : fmt::format_to_n(text.begin(), kOperationSize - 1, "{}", operation);
    if (!tensor.empty()) fmt::format_to_n(end.out, text.end() - 1 - end.out, " ({})", tensor);
    content_->operation = text;
    content_->busy.clear(std::memory_order_release);
  }
  content_->running = 1;
  content_->changed = now();
  ++content_->beats;
}

void RankPage::end() {
  content_->running = 0;
  content_->changed = now();
  ++content_->beats;
}

void RankPage::blame(int rank) {
  int nobody = 0;
  content_->blamed.compare_exchange_strong(nobody, rank + 1);
}

void RankPage::fail(std::string_view message) {
  if (content_->busy.test_and_set(std::memory_order_acquire)) return;
  put(content_->error, message);
  content_->busy.clear(std::memory_order_release);
}

RankPage::Reading RankPage::read() const {
  const int blamed = content_->blamed;
  Reading reading{.beats = content_->beats,
                  .doing = take(content_->operation, false),
                  .done = content_->running == 0,
                  .error = take(content_->error, true)};
  if (reading.beats != 0) reading.seconds = static_cast<double>(now() - content_->changed) * 1e-9;
  if (blamed > 0) reading.blamed_rank = blamed - 1;
  return reading;
}

}  // namespace lockstep
