// A full or a broken disk, at every file call of writing and of removing: what was there is still there, the new one is
// whole or not there at all, and the next writer finds nothing in its way.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/find.h>
#include <lockstep/checkpoint/keep.h>

#include "failing_calls.h"
#include "small_checkpoint.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class FailingDisk : public ::testing::TestWithParam<std::tuple<int, Failing>> {
 protected:
  using Action = std::function<void()>;

  // Does `action` with each of its calls failing in turn. It may fail in words, or not at all; `check` is called after
  // it each time with the folder, which `prepare` has made. Returns how many calls it took.
  int at_every_call(const Action& prepare, const Action& action, const Action& check) {
    const auto [error, how] = GetParam();
    for (int which = 0;; ++which) {
      SCOPED_TRACE(fmt::format("call {} fails with {}", which, error));
      std::filesystem::remove_all(checkpoints_);
      prepare();
      int count = 0;
      bool threw = false;
      {
        const FailingCalls calls(which, error, how);
        try {
          action();
        } catch (const RuntimeError&) {
          threw = true;
        }
        count = calls.count();
      }
      if (which >= count) {
        EXPECT_FALSE(threw);
        return count;
      }
      failures_ += threw ? 1 : 0;
      check();
      if (HasFailure()) return count;
    }
  }

  std::int64_t newest() const {
    const checkpoint::NewestGood newest = checkpoint::newest_good(checkpoints_);
    EXPECT_TRUE(newest.passed_over.empty()) << newest.passed_over.front().why;
    EXPECT_TRUE(newest.checkpoint && is_small(*newest.checkpoint));
    return newest.checkpoint ? newest.checkpoint->manifest().step : -1;
  }

  void next_writer_has_its_way() const {
    write_small(checkpoints_, 30);
    EXPECT_EQ(newest(), 30);
    for (const auto& entry : std::filesystem::directory_iterator(checkpoints_)) {
      EXPECT_NE(entry.path().filename().string().front(), '.') << entry.path();
    }
  }

  const TemporaryFolder folder_;
  const std::filesystem::path checkpoints_ = folder_.path() / "checkpoints";
  int failures_ = 0;
};

TEST_P(FailingDisk, WhileOneIsWrittenThePreviousOneLoads) {
  const int calls = at_every_call([&] { write_small(checkpoints_, 1); }, [&] { write_small(checkpoints_, 2); },
                                  [&] {
                                    EXPECT_GE(newest(), 1);
                                    checkpoint::verify(checkpoints_ / "1");
                                    next_writer_has_its_way();
                                  });
  EXPECT_GT(calls, 15);
  EXPECT_GT(failures_, calls / 2);
}

TEST_P(FailingDisk, WhileOneIsReplacedOneOfThemLoads) {
  at_every_call([&] { write_small(checkpoints_, 2); }, [&] { write_small(checkpoints_, 2); },
                [&] {
                  EXPECT_EQ(newest(), 2);
                  next_writer_has_its_way();
                });
  EXPECT_GT(failures_, 0);
}

TEST_P(FailingDisk, WhileOldOnesAreRemovedTheNewestLoads) {
  const auto prepare = [&] {
    for (const int step : {1, 2, 3}) write_small(checkpoints_, step);
  };
  at_every_call(
      prepare, [&] { checkpoint::prune(checkpoints_, {.last = 1}); },
      [&] {
        EXPECT_EQ(newest(), 3);
        // Those that are still there by name are there wholly.
        for (const char* step : {"1", "2"}) {
          if (std::filesystem::exists(checkpoints_ / step)) checkpoint::verify(checkpoints_ / step);
        }
        next_writer_has_its_way();
      });
}

INSTANTIATE_TEST_SUITE_P(EveryCall, FailingDisk,
                         ::testing::Combine(::testing::Values(ENOSPC, EIO),
                                            ::testing::Values(Failing::kOnce, Failing::kFromThenOn)),
                         [](const auto& suite) {
                           return std::string(std::get<0>(suite.param) == EIO ? "EIO" : "ENOSPC") +
                                  (std::get<1>(suite.param) == Failing::kOnce ? "_once" : "_from_then_on");
                         });

TEST(FileCalls, EverythingIsSyncedBeforeItHasItsNameAndTheNameAfter) {
  const TemporaryFolder folder;
  write_small(folder.path(), 1);
  const FailingCalls calls(-1, 0, Failing::kOnce);
  write_small(folder.path(), 2);
  std::vector<std::string> order;
  for (const std::string& name : calls.names()) {
    if (name == "fsync" || name == "rename" || (name == "write" && (order.empty() || order.back() != "write"))) {
      order.push_back(name);
    }
  }
  // Two files of tensors and checkpoint.json; the folder; the name; the folder above.
  EXPECT_THAT(order,
              ElementsAreArray({"write", "fsync", "write", "fsync", "write", "fsync", "fsync", "rename", "fsync"}));
}

TEST(FileCalls, AShortWriteIsGoneOnWith) {
  const TemporaryFolder folder;
  std::vector<std::string> names;
  {
    const FailingCalls calls(-1, 0, Failing::kOnce);
    write_small(folder.path(), 1);
    names = calls.names();
  }
  const auto writes = std::count(names.begin(), names.end(), "write");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != "write") continue;
    const auto step = static_cast<std::int64_t>(10 + i);
    {
      const FailingCalls calls(static_cast<int>(i), 0, Failing::kOnce);
      write_small(folder.path(), step);
      EXPECT_EQ(std::count(calls.names().begin(), calls.names().end(), "write"), writes + 1);
    }
    checkpoint::verify(folder.path() / std::to_string(step));
  }
}

TEST(FileCalls, AFullDiskIsSaidInWords) {
  const TemporaryFolder folder;
  write_small(folder.path(), 1);
  int which = 0;
  {
    const FailingCalls calls(-1, 0, Failing::kOnce);
    write_small(folder.path(), 2);
    const auto& names = calls.names();
    which = static_cast<int>(std::find(names.begin(), names.end(), "write") - names.begin());
  }
  const FailingCalls calls(which, ENOSPC, Failing::kOnce);
  try {
    write_small(folder.path(), 3);
    FAIL() << "it should have failed";
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no room for"));
    EXPECT_THAT(error.what(), HasSubstr("model.safetensors"));
    EXPECT_THAT(error.what(), HasSubstr("make room"));
  }
}

}  // namespace
}  // namespace lockstep::test
