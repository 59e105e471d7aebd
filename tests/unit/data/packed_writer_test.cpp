#include <lockstep/data/packed_writer.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>

#include <gmock/gmock.h>

#include <lockstep/base/fd.h>

#include "data/packed_partial.h"
#include "packed_files.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::ThrowsWith;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kSamples = 20;

class Writer : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder_.path() / "set.lsp"; }
  std::filesystem::path partial() const { return folder_.path() / "set.lsp.partial"; }
  std::filesystem::path journal() const { return folder_.path() / "set.lsp.partial.journal"; }

  PackedWriter writer(const PackedWriterOptions& options = {.commit_bytes = 1}) const {
    return PackedWriter(path(), test::kClasses, test::digest("test"), options);
  }

  std::string uninterrupted() const {
    const test::TemporaryFolder other;
    test::write_packed(other.path() / "set.lsp", kSamples);
    return test::content(other.path() / "set.lsp");
  }

  std::string resumed() const {
    test::write_packed(path(), kSamples);
    return test::content(path());
  }

  // Runs it in a process of its own; its exit code, or 128 and the signal.
  static int in_child(const std::function<void()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        body();
      } catch (const Error& error) {
        std::fputs(error.what(), stderr);
        ::_exit(error.exit_code());
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  const test::TemporaryFolder folder_;
};

TEST_F(Writer, WhatIsNotFinishedHasNoNameYet) {
  {
    auto unfinished = writer();
    test::add_sample(unfinished, 0);
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_THAT([&] { PackedSet{partial()}; }, ThrowsWith<PackedError>("it is not complete"));
  EXPECT_EQ(resumed(), uninterrupted());
  EXPECT_FALSE(std::filesystem::exists(partial()));
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(Writer, AProcessKilledAfterAnySampleIsGoneOnWith) {
  const std::string expected = uninterrupted();
  for (std::int64_t killed_at = 0; killed_at <= kSamples; killed_at += 3) {
    // With the second number, what is committed and what is not lie at different places.
    for (const std::uint64_t commit_bytes : {std::uint64_t{1}, std::uint64_t{9000}}) {
      EXPECT_EQ(in_child([&] {
                  auto victim = writer({.commit_bytes = commit_bytes});
                  for (std::int64_t i = 0; i < killed_at; ++i) test::add_sample(victim, i);
                  ::raise(SIGKILL);
                }),
                128 + SIGKILL);
      EXPECT_EQ(resumed(), expected) << killed_at;
      std::filesystem::remove(path());
    }
  }
}

TEST_F(Writer, AJournalCutAnywhereIsGoneOnWith) {
  const std::string expected = uninterrupted();
  {
    auto unfinished = writer();
    for (std::int64_t i = 0; i < 7; ++i) test::add_sample(unfinished, i);
  }
  const std::string whole_journal = test::content(journal()), whole_partial = test::content(partial());
  for (std::size_t length = 0; length <= whole_journal.size(); length += 13) {
    folder_.write("set.lsp.partial.journal", whole_journal.substr(0, length));
    folder_.write("set.lsp.partial", whole_partial);
    EXPECT_EQ(resumed(), expected) << length;
    std::filesystem::remove(path());
  }
}

TEST_F(Writer, SamplesThatACrashLostAreMadeAgain) {
  const std::string expected = uninterrupted();
  {
    auto unfinished = writer();
    for (std::int64_t i = 0; i < 7; ++i) test::add_sample(unfinished, i);
  }
  std::filesystem::resize_file(partial(), std::filesystem::file_size(partial()) - 3);
  EXPECT_EQ(writer().position(), 6);
  EXPECT_EQ(resumed(), expected);
}

TEST_F(Writer, WhatWasLeftOutIsRemembered) {
  {
    auto unfinished = writer();
    test::add_sample(unfinished, 0);
    unfinished.leave_out("cat/bad.jpg", "it is empty");
    test::add_sample(unfinished, 1);
  }
  auto second = writer();
  EXPECT_EQ(second.position(), 3);
  EXPECT_EQ(second.size(), 2);
  ASSERT_EQ(second.left_out().size(), 1U);
  EXPECT_EQ(second.left_out()[0].name, "cat/bad.jpg");
  EXPECT_EQ(second.left_out()[0].reason, "it is empty");
}

TEST_F(Writer, AnotherSourceDoesNotGoOnWithIt) {
  {
    auto unfinished = writer();
    test::add_sample(unfinished, 0);
  }
  EXPECT_THAT([&] { PackedWriter(path(), test::kClasses, test::digest("another")); },
              ThrowsWith<UsageError>("other pictures or with other options"));
}

TEST_F(Writer, OnlyOneProcessWrites) {
  auto first = writer();
  EXPECT_THAT([&] { writer(); }, ThrowsWith<UsageError>("another process is writing"));
}

TEST_F(Writer, AFileThatWasFinishedSinceItWasOpenedIsLeftAlone) {
  UniqueFd second;
  {
    auto first = writer();
    for (std::int64_t i = 0; i < kSamples; ++i) test::add_sample(first, i);
    second = UniqueFd(::open(partial().c_str(), O_RDWR | O_CLOEXEC));
    first.finish();
  }
  EXPECT_THAT([&] { lock_partial(second.get(), partial()); }, ThrowsWith<UsageError>("has just finished"));
  EXPECT_EQ(test::content(path()), uninterrupted());
}

TEST_F(Writer, ALinkInThePlaceOfThePartialFileIsNotFollowed) {
  folder_.write("precious", "precious");
  std::filesystem::create_symlink(folder_.path() / "precious", partial());
  EXPECT_THAT([&] { writer(); }, ThrowsWith<RuntimeError>("set.lsp.partial"));
  EXPECT_EQ(test::content(folder_.path() / "precious"), "precious");
}

TEST_F(Writer, AFileThatExistsIsKept) {
  folder_.write("set.lsp", "precious");
  EXPECT_THAT([&] { writer(); }, ThrowsWith<UsageError>("exists already"));
  EXPECT_EQ(test::content(path()), "precious");
}

TEST_F(Writer, ASetWithoutSamplesAndALabelWithoutClassAreRefused) {
  auto empty = writer();
  EXPECT_THAT([&] { empty.finish(); }, ThrowsWith<UsageError>("no picture"));
  EXPECT_THAT([&] { empty.add({.bytes = test::bytes_of("x"), .label = 2}, "a"); }, ThrowsWith<UsageError>("no class"));
  EXPECT_THAT([&] { empty.add({.bytes = test::bytes_of("x"), .label = -1}, "a"); }, ThrowsWith<UsageError>("no class"));
}

TEST_F(Writer, PixelsThatDoNotFitTheirSizeAreRefused) {
  auto file = writer();
  const std::string six = "123456";
  const auto add = [&](int width, int height, int channels) {
    file.add({.form = Picture::Form::kPixels,
              .bytes = test::bytes_of(six),
              .owner = nullptr,
              .width = width,
              .height = height,
              .channels = channels,
              .label = 0},
             "cat/a.png");
  };
  add(2, 1, 3);
  add(3, 2, 1);
  const std::vector<std::array<int, 3>> wrong = {{2, 2, 3}, {1, 1, 3},   {3, 1, 2},   {0, 1, 3},  {2, 0, 3},
                                                 {0, 0, 0}, {2, 1, 259}, {6, 1, 257}, {-2, -1, 3}};
  for (const std::array<int, 3>& size : wrong) {
    EXPECT_THAT([&] { add(size[0], size[1], size[2]); }, ThrowsWith<UsageError>("do not fit"));
  }
  file.finish();
  EXPECT_EQ(PackedSet(path()).size(), 2);
}

TEST_F(Writer, AFullDiskIsSaidInWordsAndGoneOnWith) {
  const std::string expected = uninterrupted();
  ::testing::internal::CaptureStderr();
  const int code = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 20'000, .rlim_max = 20'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto victim = writer();
    for (std::int64_t i = 0; i < kSamples; ++i) test::add_sample(victim, i);
  });
  EXPECT_EQ(code, kExitFailure);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("there is no room for"), HasSubstr("set.lsp.partial"), HasSubstr("make room")));
  EXPECT_GT(writer().position(), 3);
  EXPECT_EQ(resumed(), expected);
}

TEST_F(Writer, AWriterThatFailedDoesNotWriteThePiecesAgain) {
  const std::string expected = uninterrupted();
  EXPECT_EQ(in_child([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              rlimit limit{};
              ::getrlimit(RLIMIT_FSIZE, &limit);
              const rlimit small{.rlim_cur = 20'000, .rlim_max = limit.rlim_max};
              ::setrlimit(RLIMIT_FSIZE, &small);
              auto victim = writer();
              std::int64_t added = 0;
              EXPECT_THROW(for (; added < kSamples; ++added) test::add_sample(victim, added), RuntimeError);
              ::setrlimit(RLIMIT_FSIZE, &limit);
              for (std::int64_t i = added; i < kSamples; ++i) test::add_sample(victim, i);
            }),
            kExitUsage);
  EXPECT_EQ(resumed(), expected);
}

TEST_F(Writer, AFinishedFileIsNotAddedTo) {
  auto finished = writer();
  for (std::int64_t i = 0; i < kSamples; ++i) test::add_sample(finished, i);
  finished.finish();
  EXPECT_THAT([&] { test::add_sample(finished, 0); }, ThrowsWith<UsageError>("is finished"));
  EXPECT_THAT([&] { finished.finish(); }, ThrowsWith<UsageError>("is finished"));
  EXPECT_EQ(test::content(path()), uninterrupted());
}

}  // namespace
}  // namespace lockstep::data
