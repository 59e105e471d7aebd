#include "runtime.h"

#include <cstdlib>
#include <thread>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>

#include "check.h"

namespace lockstep::comm::mpi {
namespace {

constexpr auto kNap = std::chrono::milliseconds(1);

const char* name_of(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

// The most that is asked of MPI, and made use of.
int asked_level() {
  const std::string text = env::get("LOCKSTEP_MPI_THREADS").value_or("multiple");
  if (text == "multiple") return MPI_THREAD_MULTIPLE;
  if (text == "serialized") return MPI_THREAD_SERIALIZED;
  if (text == "funneled") return MPI_THREAD_FUNNELED;
  throw UsageError({.message = "LOCKSTEP_MPI_THREADS is not understood",
                    .found = text,
                    .expected = "multiple, serialized or funneled"});
}

}  // namespace

Runtime& Runtime::get() {
  // Never destroyed: threads and exit handlers may use it until the process is gone.
  static Runtime& runtime = *std::unique_ptr<Runtime>(new Runtime).release();
  return runtime;
}

void Runtime::begin(std::chrono::milliseconds timeout, const Patience& patience) {
  const std::lock_guard lock(beginning_);
  timeout_ = std::max(timeout_, timeout);
  int finalized = 0;
  LOCKSTEP_CHECK_MPI(MPI_Finalized(&finalized));
  if (finalized != 0) {
    throw UsageError({.message = "MPI has been finalized in this process",
                      .next = "make the World before MPI_Finalize, and destroy it before"});
  }
  if (begun_) return;
  if (given_up_) throw_given_up();
  int initialized = 0;
  LOCKSTEP_CHECK_MPI(MPI_Initialized(&initialized));
  if (initialized != 0) {
    int level = MPI_THREAD_SINGLE;
    LOCKSTEP_CHECK_MPI(MPI_Query_thread(&level));
    join_program(level);
  } else {
    start(patience);
  }
  call([this] {
    LOCKSTEP_CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
    LOCKSTEP_CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  });
  begun_ = true;
}

void Runtime::join_program(int level) {
  if (level >= MPI_THREAD_SERIALIZED) return;
  throw UsageError({.message = "this program started MPI for fewer threads than Lockstep needs",
                    .found = name_of(level),
                    .expected = "MPI_THREAD_MULTIPLE, or MPI_THREAD_SERIALIZED where the program makes no call to MPI "
                                "while an operation of Lockstep is under way",
                    .next = "call MPI_Init_thread with MPI_THREAD_MULTIPLE, or leave the start of MPI to Lockstep"});
}

void Runtime::start(const Patience& patience) {
  const int asked = asked_level();
  // Cray MPICH gives no more than this variable allows.
  if (asked == MPI_THREAD_MULTIPLE) ::setenv("MPICH_MAX_THREAD_SAFETY", "multiple", /*overwrite=*/0);
  if (!thread_) thread_ = std::make_unique<ServiceThread>();
  try {
    // Both calls wait for the other ranks: if they never come, the thread is left there.
    thread_->run(
        [this, asked] {
          int given = MPI_THREAD_SINGLE;
          LOCKSTEP_CHECK_MPI(MPI_Init_thread(nullptr, nullptr, asked, &given));
          level_ = std::min(given, asked);
          LOCKSTEP_CHECK_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
          LOCKSTEP_CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &ending_));
        },
        &patience);
  } catch (...) {
    give_up("it could not be started");
    throw;
  }
  if (level_ < MPI_THREAD_FUNNELED) {
    give_up("it allows no threads");
    throw RuntimeError({.message = "this MPI allows no threads",
                        .found = name_of(level_),
                        .expected = "MPI_THREAD_FUNNELED or more",
                        .next = "use an MPI that was built for threads; on Cray MPICH see MPICH_MAX_THREAD_SAFETY"});
  }
  one_thread_ = level_ == MPI_THREAD_FUNNELED;
  ::on_exit(&Runtime::at_exit, this);
}

void Runtime::give_up(const std::string& reason) noexcept {
  // Not under the lock that calls hold: one of them may be stuck.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (given_up_) return;
  reason_ = reason;
  given_up_.store(true, std::memory_order_release);
}

void Runtime::throw_given_up() const {
  throw RuntimeError({.message = "MPI is not used any more in this process: " + reason_,
                      .next = "mend the first error, and start the job again"});
}

bool Runtime::usable() const {
  int finalized = 0;
  return !given_up_ && MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0;
}

void Runtime::at_exit(int status, void* self) {
  auto& runtime = *static_cast<Runtime*>(self);
  // A launcher ends the job when a rank fails; a rank that waited for the others in MPI_Finalize would hide that.
  if (status == 0 && runtime.usable()) runtime.thread_->run([&] { runtime.finalize(); });
}

// MPI_Finalize waits for every rank, for as long as it takes; so they meet before it, with a deadline.
void Runtime::finalize() noexcept {
  MPI_Request met = MPI_REQUEST_NULL;
  std::unique_lock lock(mutex_);
  if (MPI_Ibarrier(ending_, &met) != MPI_SUCCESS) return;
  const auto deadline = std::chrono::steady_clock::now() + timeout_;
  for (;;) {
    int all_here = 0;
    if (MPI_Test(&met, &all_here, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    if (all_here != 0) break;
    if (std::chrono::steady_clock::now() > deadline) return;
    lock.unlock();
    std::this_thread::sleep_for(kNap);
    lock.lock();
  }
  MPI_Comm_free(&ending_);
  MPI_Finalize();
  give_up("it has been finalized");
}

}  // namespace lockstep::comm::mpi
