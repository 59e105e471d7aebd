#include "train/run_folder.h"

#include <unistd.h>

#include <future>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

#include "scoped_variable.h"
#include "small_checkpoint.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::test {
namespace {

namespace fs = std::filesystem;
using ::testing::StartsWith;
using train::choose_folder;
using train::FolderRequest;

class FolderOfARun : public ::testing::Test {
 protected:
  FolderRequest request(const std::string& resume, const fs::path& output = {}) const {
    return {.output = output, .name = "mnist-small", .resume = resume, .runs = folder.path() / "runs"};
  }

  // A run that has checkpoints of these steps.
  fs::path make_run(const std::string& name, const std::vector<std::int64_t>& steps) const {
    const fs::path run = folder.path() / "runs" / name;
    fs::create_directories(run / "checkpoints");
    for (const std::int64_t step : steps) write_small(run / "checkpoints", step);
    return run;
  }

  static void damage(const fs::path& checkpoint) { fs::resize_file(checkpoint / "checkpoint.json", 10); }

  TemporaryFolder folder;
};

TEST_F(FolderOfARun, IsNamedAfterTheRunAndTheTime) {
  const auto first = choose_folder(request("default")), second = choose_folder(request("default"));
  EXPECT_EQ(first.folder.parent_path(), folder.path() / "runs");
  EXPECT_THAT(first.folder.filename().string(), StartsWith("mnist-small-20"));
  EXPECT_TRUE(fs::is_directory(first.folder / "checkpoints"));
  EXPECT_EQ(first.checkpoint, std::nullopt);
  EXPECT_NE(first.folder, second.folder) << "two runs of one second";
}

TEST_F(FolderOfARun, KeepsWhatIsThereFromBeingWrittenOver) {
  const fs::path run = make_run("mine", {3});
  EXPECT_THAT([&] { choose_folder(request("default", run)); }, ThrowsWith<UsageError>("--resume auto"));
  EXPECT_TRUE(fs::exists(run / "checkpoints" / "3"));
}

TEST_F(FolderOfARun, PutsARunAsideForANewBeginning) {
  const fs::path run = make_run("mine", {3});
  const std::vector<std::string> parts = {"metrics.jsonl", "config.yaml", "report.html",
                                          "machine.json",  "trace.json",  "events.out.tfevents.1.host"};
  for (const std::string& part : parts) files::write_atomically(run / part, "of the first run");
  files::write_atomically(run / "notes.txt", "somebody's");
  fs::create_directory(run / "hparams");
  const auto chosen = choose_folder(request("none", run));
  EXPECT_EQ(chosen.folder, run);
  EXPECT_EQ(chosen.checkpoint, std::nullopt);
  EXPECT_TRUE(fs::is_empty(run / "checkpoints"));
  fs::path aside;
  for (const auto& entry : fs::directory_iterator(run)) {
    if (fs::exists(entry.path() / "checkpoints" / "3")) aside = entry.path();
  }
  ASSERT_FALSE(aside.empty());
  for (const std::string& part : parts) {
    EXPECT_TRUE(fs::exists(aside / part)) << part;
    EXPECT_FALSE(fs::exists(run / part)) << part;
  }
  EXPECT_TRUE(fs::exists(aside / "hparams"));
  EXPECT_TRUE(fs::exists(run / "notes.txt"));
}

TEST_F(FolderOfARun, GoesOnFromTheNewestGoodCheckpoint) {
  const fs::path run = make_run("mine", {3, 5, 7});
  damage(run / "checkpoints" / "7");
  EXPECT_EQ(choose_folder(request("auto", run)).checkpoint, run / "checkpoints" / "5");
}

TEST_F(FolderOfARun, GoesOnWithTheNewestRunOfItsName) {
  make_run("mnist-small-20260101-120000", {1});
  const fs::path newest = make_run("mnist-small-20260301-120000", {2});
  make_run("mnist-small-20260401-120000", {});
  make_run("mnist-small-other-20260501-120000", {9});
  make_run("mnist-small-2-20260501-120000", {9});  // of a run named mnist-small-2
  make_run("mnist-small-20260501", {9});
  const auto chosen = choose_folder(request("auto"));
  EXPECT_EQ(chosen.folder, newest);
  EXPECT_EQ(chosen.checkpoint, newest / "checkpoints" / "2");
}

TEST_F(FolderOfARun, OfOneSecond_TheLastCounts) {
  make_run("mnist-small-20260301-120000", {1});
  make_run("mnist-small-20260301-120000-2", {1});
  const fs::path last = make_run("mnist-small-20260301-120000-10", {1});
  EXPECT_EQ(choose_folder(request("auto")).folder, last);
}

TEST_F(FolderOfARun, IsNotMadeForAnEvaluation) {
  const fs::path run = fs::canonical(make_run("mnist-small-20260301-120000", {3, 5}));
  EXPECT_EQ(train::find_checkpoint(request("default")), std::nullopt);
  EXPECT_EQ(train::find_checkpoint(request("auto")), run / "checkpoints" / "5");
  EXPECT_EQ(train::find_checkpoint(request((run / "checkpoints" / "3").string())), run / "checkpoints" / "3");
  EXPECT_THAT([&] { train::find_checkpoint(request("auto", folder.path() / "new")); },
              ThrowsWith<UsageError>("there is no checkpoint to evaluate"));
  EXPECT_THAT([&] { train::find_checkpoint(request("nowhere")); },
              ThrowsWith<UsageError>("'nowhere' does not exist\n  expected: auto, none, a run's folder"));
  EXPECT_FALSE(fs::exists(folder.path() / "new"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() / "runs"), {}), 1);
}

TEST_F(FolderOfARun, BeginsWhereThereIsNothingToGoOnFrom) {
  EXPECT_EQ(choose_folder(request("auto")).checkpoint, std::nullopt);
  const auto chosen = choose_folder(request("auto", folder.path() / "new"));
  EXPECT_EQ(chosen.folder, folder.path() / "new");
  EXPECT_EQ(chosen.checkpoint, std::nullopt);
}

TEST_F(FolderOfARun, IsFoundByAnyOfItsPaths) {
  const fs::path run = fs::canonical(make_run("mine", {3, 5}));
  for (const fs::path& path : {run, run / "checkpoints", run / "checkpoints" / "5"}) {
    const auto chosen = choose_folder(request(path.string()));
    EXPECT_EQ(chosen.folder, run) << path;
    EXPECT_EQ(chosen.checkpoint, run / "checkpoints" / "5") << path;
  }
  EXPECT_EQ(choose_folder(request((run / "checkpoints" / "3").string())).checkpoint, run / "checkpoints" / "3");
  const auto elsewhere = choose_folder(request(run.string(), folder.path() / "branch"));
  EXPECT_EQ(elsewhere.folder, folder.path() / "branch");
  EXPECT_EQ(elsewhere.checkpoint, run / "checkpoints" / "5");
}

TEST_F(FolderOfARun, IsRefusedWithoutAGoodCheckpoint) {
  const fs::path run = make_run("mine", {3});
  damage(run / "checkpoints" / "3");
  EXPECT_THAT([&] { choose_folder(request(run.string())); }, ThrowsWith<UsageError>("no good checkpoint"));
  EXPECT_THAT([&] { choose_folder(request((run / "checkpoints" / "3").string())); }, ThrowsWith<UsageError>("3"));
  EXPECT_THAT([&] { choose_folder(request((folder.path() / "nowhere").string())); },
              ThrowsWith<UsageError>("nowhere' does not exist"));
  const fs::path file = run / "checkpoints" / "3" / "checkpoint.json";
  EXPECT_THAT([&] { choose_folder(request(file.string())); }, ThrowsWith<UsageError>("checkpoint.json' is no folder"));
}

TEST_F(FolderOfARun, IsTheSameInARestart) {
  const fs::path run = make_run("mine", {3});
  auto again = request("default", run);
  again.is_restart = true;
  EXPECT_EQ(choose_folder(again).checkpoint, run / "checkpoints" / "3");
}

TEST_F(FolderOfARun, BelongsToOneRunAsLongAsThatLives) {
  const fs::path run = fs::canonical(make_run("mnist-small-20260301-120000", {3}));
  const auto again = [&](const std::string& resume, const fs::path& output) {
    auto wish = request(resume, output);
    wish.patience = std::chrono::seconds(0);
    return choose_folder(wish);
  };
  {
    const auto first = choose_folder(request("auto", run));
    for (const std::string& resume : {std::string("auto"), std::string("none"), std::string("default"), run.string()}) {
      EXPECT_THAT([&] { again(resume, run); }, ThrowsWith<UsageError>("another run is under way in '" + run.string()));
    }
    EXPECT_THAT([&] { again("auto", {}); }, ThrowsWith<UsageError>("pid " + std::to_string(::getpid()) + " on "));
    EXPECT_THAT([&] { again(run.string(), {}); }, ThrowsWith<UsageError>("--set output=FOLDER"));
    EXPECT_NE(again("none", {}).folder, run) << "another folder is free";
    EXPECT_TRUE(fs::exists(run / "checkpoints" / "3"));
  }
  EXPECT_EQ(again("auto", run).checkpoint, run / "checkpoints" / "3");
}

// As the launcher's restart, which may come before all of the last attempt is gone.
TEST_F(FolderOfARun, IsWaitedForWhileTheRunBeforeEnds) {
  const fs::path run = make_run("mnist-small-20260301-120000", {3});
  auto first = std::optional(choose_folder(request("auto", run)));
  auto end = std::async(std::launch::async, [&] {
    write_small(run / "checkpoints", 5);
    first.reset();
  });
  EXPECT_EQ(choose_folder(request("auto")).checkpoint, run / "checkpoints" / "5");
}

TEST(Restart, IsToldByLaunchersAndSchedulers) {
  EXPECT_FALSE(train::is_restart());
  for (const char* name : {"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT", "LOCKSTEP_RESTARTS"}) {
    const ScopedVariable none(name, "0");
    EXPECT_FALSE(train::is_restart()) << name;
    const ScopedVariable one(name, "1");
    EXPECT_TRUE(train::is_restart()) << name;
  }
}

}  // namespace
}  // namespace lockstep::test
