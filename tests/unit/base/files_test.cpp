#include <lockstep/base/files.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::files {
namespace {

using test::TemporaryFolder;
namespace fs = std::filesystem;

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(Read, ReturnsTheWholeContent) {
  const TemporaryFolder folder;
  const std::string content("a\0b\n", 4);
  EXPECT_EQ(read(folder.write("file", content)), content);
}

TEST(Read, RefusesMissingFoldersPipesAndTooLarge) {
  const TemporaryFolder folder;
  EXPECT_THROW(read(folder.path() / "missing"), UsageError);
  EXPECT_THROW(read(folder.path()), UsageError);
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(read(folder.path() / "pipe"), UsageError);  // and does not wait for a writer
  EXPECT_THROW(read(folder.write("large", "12345"), 4), UsageError);
}

TEST(WriteAtomically, CreatesReplacesAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  write_atomically(path, "one");
  write_atomically(path, "two", 0600);
  EXPECT_EQ(read(path), "two");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(entries(folder.path()), 1U);
}

// For whoever reads of a full disk: not the temporary name, which is gone.
TEST(WriteAtomically, NamesTheFileThatThereIsNoRoomFor) {
  const TemporaryFolder folder;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  EXPECT_THAT([&] { write_atomically(folder.path() / "file", "four"); },
              test::ThrowsWith<RuntimeError>("file': File too large\n  next: check that the folder"));
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(entries(folder.path()), 0U);
}

TEST(WriteAtomically, KeepsTheOldContentWhenItFails) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  write_atomically(path, "old");
  // A folder cannot be replaced by a file: the rename fails after everything was written.
  fs::create_directories(folder.path() / "target" / "inside");
  EXPECT_THROW(write_atomically(folder.path() / "target", "new"), RuntimeError);
  EXPECT_THROW(write_atomically(folder.path() / "no" / "such", "new"), RuntimeError);
  EXPECT_EQ(read(path), "old");
  EXPECT_EQ(entries(folder.path()), 2U);
}

TEST(WriteAtomically, KilledAtAnyMoment_LeavesOldOrNewContent) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "file";
  const std::string a(1 << 20, 'a'), b(1 << 20, 'b');
  write_atomically(path, a);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) {
        write_atomically(path, b);
        write_atomically(path, a);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + 791 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string content = read(path);
    EXPECT_TRUE(content == a || content == b) << "round " << round << ", " << content.size() << " bytes";
  }
}

TEST(Sha256, IsTheKnownAnswer) {
  constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(sha256("abc"), kOfAbc);
  const TemporaryFolder folder;
  EXPECT_EQ(sha256_of_file(folder.write("abc", "abc")), kOfAbc);
  const std::string large(3 * (1 << 20) + 1, 'x');
  EXPECT_EQ(sha256_of_file(folder.write("large", large)), sha256(large));
}

TEST(ProgramFolder, HoldsThisProgram) {
  EXPECT_TRUE(fs::exists(program_folder() / "base_tests"));
}

}  // namespace
}  // namespace lockstep::files
