// A disk that is full and has space again: a file system in memory, of a few pages, that only the child sees.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include <gmock/gmock.h>

#include "event.pb.h"
#include "temporary_folder.h"
#include "tensorboard/event_reader.h"
#include "tensorboard/event_writer.h"

namespace lockstep::tensorboard {
namespace {

constexpr int kNoRights = 77;

std::string event_of(std::int64_t step) {
  proto::Event event;
  event.set_step(step);
  event.mutable_summary()->add_value()->set_tag(std::string(3000, 'x'));
  return event.SerializeAsString();
}

std::vector<std::int64_t> steps_in(const std::filesystem::path& file) {
  const EventFileContent content = read_events(file);
  if (!content.problem.empty()) throw std::runtime_error("the file does not parse: " + content.problem);
  std::vector<std::int64_t> steps;
  for (const proto::Event& event : content.events) {
    if (event.has_summary()) steps.push_back(event.step());
  }
  return steps;
}

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

void fill_and_clear(const std::filesystem::path& disk) {
  const std::filesystem::path ballast = disk / "ballast";
  { std::ofstream(ballast) << std::string(40 << 10, 'b'); }
  EventWriter writer(disk / "run", {.max_queue = 1});
  std::int64_t step = 0;
  std::string problem;
  while (problem.empty() && step < 1000) {
    writer.add(event_of(++step));
    writer.flush();
    problem = writer.take_problem();
  }
  require(problem.find("No space left on device") != std::string::npos, "the disk was never full");
  const std::vector<std::int64_t> before = steps_in(writer.file());
  require(!before.empty() && before.back() == step - 1, "events from before were lost");

  std::filesystem::remove(ballast);
  writer.add(event_of(1001));
  writer.close();
  const std::vector<std::int64_t> after = steps_in(writer.file());
  require(after.size() == before.size() + 1 && after.back() == 1001, "the event after it is not there");
}

TEST(FullDisk, LosesWhatDoesNotFit_AndNothingElse) {
  const test::TemporaryFolder folder;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A user without rights may still do that in a name space of users.
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ::_exit(kNoRights);
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) ::_exit(kNoRights);
    try {
      fill_and_clear(folder.path());
    } catch (const std::exception& error) {
      std::cerr << error.what() << "\n";
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoRights) GTEST_SKIP() << "no right to mount a file system here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace lockstep::tensorboard
