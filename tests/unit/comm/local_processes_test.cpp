// The local engine with a process for each rank, as it is used.
#include "comm/local/local.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "local_ranks.h"

namespace lockstep::comm {
namespace {

using local::Deadline;
using local::SharedMemory;
using ::testing::HasSubstr;

// A meeting in a folder: a key is a file.
class FolderMeeting {
 public:
  FolderMeeting() {
    std::string path = std::filesystem::temp_directory_path() / "lockstep-meeting-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) throw system_error("cannot make a folder", errno);
    folder_ = path;
  }
  ~FolderMeeting() { std::filesystem::remove_all(folder_); }

  bool has(const std::string& key) const { return std::filesystem::exists(folder_ / file_name(key)); }

  LocalMeeting meeting() const {
    return {.publish =
                [folder = folder_](const std::string& key, const std::string& value) {
                  const auto name = folder / file_name(key);
                  std::ofstream(name.string() + ".new") << value;
                  std::filesystem::rename(name.string() + ".new", name);
                },
            .look_up =
                [folder = folder_](const std::string& key) {
                  const Deadline patience;
                  const auto name = folder / file_name(key);
                  while (!std::filesystem::exists(name)) {
                    patience.check();
                    std::this_thread::yield();
                  }
                  std::string value;
                  std::getline(std::ifstream(name), value);
                  return value;
                }};
  }

 private:
  static std::string file_name(std::string key) {
    std::replace(key.begin(), key.end(), '/', '-');
    return key;
  }

  std::filesystem::path folder_;
};

// The processes of a test; what still runs at its end is killed.
class Processes {
 public:
  // `body` returns the exit code.
  template <typename Body>
  void start(int count, Body&& body) {
    for (int rank = 0; rank < count; ++rank) {
      const pid_t pid = ::fork();
      if (pid < 0) throw system_error("cannot fork", errno);
      if (pid == 0) {
        int code = 99;
        try {
          code = body(RankId{rank, count});
        } catch (const std::exception& error) {
          std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        }
        ::_exit(code);
      }
      pids_.push_back(pid);
    }
  }
  ~Processes() {
    for (const pid_t pid : pids_) {
      if (pid <= 0) continue;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  pid_t pid(int rank) const { return pids_[static_cast<std::size_t>(rank)]; }

  // The exit code, or minus the signal.
  int wait(int rank) {
    int status = 0;
    ::waitpid(pids_[static_cast<std::size_t>(rank)], &status, 0);
    pids_[static_cast<std::size_t>(rank)] = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  std::vector<pid_t> pids_;
};

TEST(LocalProcesses, AllReduce_SumsExactlyOnEveryRank) {
  const FolderMeeting folder;
  Processes processes;
  processes.start(3, [&](RankId self) {
    const Deadline patience;
    const auto engine = make_local_engine(self, folder.meeting(), patience);
    std::vector<float> values(500'000, static_cast<float>(self.rank + 1));
    for (int i = 0; i < 3; ++i) {
      engine->all_reduce({values.data(), std::ssize(values), c10::ScalarType::Float}, Reduce::kSum, patience);
    }
    return values == std::vector<float>(500'000, 6.0F * 3.0F * 3.0F) ? 0 : 1;
  });
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(processes.wait(rank), 0);
}

// As the engine's user would, it gives up when it hears of a lost rank.
class PatienceUntilLoss final : public Patience {
 public:
  explicit PatienceUntilLoss(const FolderMeeting& folder) : folder_(folder) {}
  void check() const override {
    if (folder_.has("loss")) throw RuntimeError("a rank is lost");
  }

 private:
  const FolderMeeting& folder_;
};

// Runs all-reduces on three ranks until one is lost, and returns when all are in the midst of it.
void start_endless_work(Processes& processes, const FolderMeeting& folder) {
  const auto meeting = folder.meeting();
  processes.start(3, [&](RankId self) {
    const auto engine = make_local_engine(self, meeting, Deadline());
    const PatienceUntilLoss patience(folder);
    std::vector<float> values(300'000);
    for (int i = 0;; ++i) {
      try {
        engine->all_reduce({values.data(), std::ssize(values), c10::ScalarType::Float}, Reduce::kSum, patience);
      } catch (const RuntimeError&) {
        return 7;
      }
      if (i == 10) meeting.publish("busy/" + std::to_string(self.rank), "yes");
    }
  });
  for (int rank = 0; rank < 3; ++rank) meeting.look_up("busy/" + std::to_string(rank));
}

TEST(LocalProcesses, AKilledRank_EndsTheOthersWhenTheirPatienceEnds) {
  const FolderMeeting folder;
  Processes processes;
  start_endless_work(processes, folder);
  ::kill(processes.pid(1), SIGKILL);
  EXPECT_EQ(processes.wait(1), -SIGKILL);
  folder.meeting().publish("loss", "rank 1");
  EXPECT_EQ(processes.wait(0), 7);
  EXPECT_EQ(processes.wait(2), 7);
}

TEST(LocalProcesses, Memory_HasNoName) {
  const FolderMeeting folder;
  Processes processes;
  start_endless_work(processes, folder);
  std::ifstream maps("/proc/" + std::to_string(processes.pid(0)) + "/maps");
  std::string line;
  while (std::getline(maps, line) && line.find("memfd:lockstep") == std::string::npos) {
  }
  EXPECT_THAT(line, HasSubstr("/memfd:lockstep (deleted)"));
  // Nobody can come in any more, either: the descriptor is closed.
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(processes.pid(0)) + "/fd")) {
    std::error_code gone;
    EXPECT_EQ(std::filesystem::read_symlink(entry, gone).string().find("memfd:lockstep"), std::string::npos);
  }
}

TEST(LocalProcesses, RanksThatCannotShareMemory_AllSaySo) {
  const FolderMeeting folder;
  Processes processes;
  processes.start(2, [&](RankId self) {
    auto meeting = folder.meeting();
    if (self.rank == 1) {
      // As on another host: no such process.
      meeting.look_up = [real = meeting.look_up](const std::string& key) {
        const std::string value = real(key);
        return key == "local/address" ? "99999999" + value.substr(value.find(':')) : value;
      };
    }
    try {
      make_local_engine(self, meeting, Deadline());
      return 1;
    } catch (const RuntimeError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 1 cannot reach the shared memory"));
      EXPECT_THAT(error.what(), HasSubstr("next: use the backend gloo"));
      return ::testing::Test::HasFailure() ? 2 : 0;
    }
  });
  EXPECT_EQ(processes.wait(0), 0);
  EXPECT_EQ(processes.wait(1), 0);
}

TEST(LocalSharedMemory, IsTheSameForWhoeverOpensIt) {
  const auto made = SharedMemory::make(1000);
  const auto opened = SharedMemory::open(made.address(), 1000);
  made.data()[999] = std::byte{42};
  EXPECT_EQ(opened.data()[999], std::byte{42});
}

TEST(LocalSharedMemory, AnotherFileIsRefused) {
  const auto made = SharedMemory::make(1000);
  const auto other = SharedMemory::make(1000);
  const std::string address = made.address();
  EXPECT_THROW(SharedMemory::open(address, 1001), RuntimeError);
  EXPECT_THROW(SharedMemory::open("", 1000), RuntimeError);
  // The other one's place with this one's cookie.
  const std::string cookie = address.substr(address.rfind(':'));
  const std::string place = other.address().substr(0, other.address().rfind(':'));
  EXPECT_THROW(SharedMemory::open(place + cookie, 1000), RuntimeError);
  // A file of the right size that is no sealed memory.
  const UniqueFd file(::memfd_create("other", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096 + 1000), 0);
  const std::string unsealed =
      std::to_string(::getpid()) + ":" + std::to_string(file.get()) + ":" + std::to_string(4096 + 1000) + cookie;
  EXPECT_THROW(SharedMemory::open(unsealed, 1000), RuntimeError);
}

TEST(LocalSharedMemory, BehindAClosedDoorIsNotFound) {
  auto made = SharedMemory::make(1000);
  const std::string address = made.address();
  made.close_door();
  EXPECT_THROW(SharedMemory::open(address, 1000), RuntimeError);
}

}  // namespace
}  // namespace lockstep::comm
