// Timelines, the scaling study and projections as a user meets them.
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "source_path.h"
#include "temporary_folder.h"
#include "trace_processes.h"

namespace lockstep::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::filesystem::path kSource = test::source_path();

CommandResult lockstep(std::vector<std::string> words) {
  words.insert(words.begin(), program_path("lockstep"));
  return run_command(words);
}

std::set<std::string> names_of(const json& trace, int rank) {
  std::set<std::string> names;
  const std::int64_t process = process_of(trace, rank);
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("pid") == process && event.at("ph") == "X") names.insert(event.at("name"));
  }
  return names;
}

TEST(Bench, HelpHasTheVerbsOfBothPrograms) {
  for (const auto& words : {std::vector<std::string>{"bench", "--help"}, {"bench", "-h"}}) {
    EXPECT_THAT(lockstep(words).out, AllOf(HasSubstr("allreduce"), HasSubstr("loader"), HasSubstr("step"),
                                           HasSubstr("compare"), HasSubstr("scaling"), HasSubstr("project")));
  }
  EXPECT_EQ(lockstep({"bench"}).exit_code, 2);
}

TEST(BenchScaling, MeasuresEachSizeAndFeedsAProjection) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "scaling.json";
  const CommandResult result = lockstep({"bench", "scaling", "--model", "mnist", "--ranks", "1,2", "-b", "4",
                                         "--rounds", "1", "--seconds", "0.05", "-o", file});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("mnist, weak scaling"), HasSubstr("efficiency")));
  EXPECT_THAT(result.err, HasSubstr("round 1 of 1, 2 ranks: "));
  const json value = json::parse(content(file));
  EXPECT_EQ(value.at("kind"), "scaling");
  EXPECT_EQ(value.at("scaling"), "weak");
  ASSERT_EQ(value.at("rows").size(), 2U);
  std::int64_t ranks = 0;
  for (const json& row : value["rows"]) {
    EXPECT_EQ(row.at("ranks"), ++ranks);
    EXPECT_EQ(row.at("nodes"), 1);
    EXPECT_GT(row.at("samples_per_second"), 0);
    EXPECT_LE(row.at("least"), row.at("greatest"));
    EXPECT_GT(row.at("compute_milliseconds"), 0);
    EXPECT_NEAR(row.at("split").at("data").get<double>() + row.at("split").at("compute").get<double>() +
                    row.at("split").at("communication").get<double>(),
                1, 1e-9);
    EXPECT_FALSE(row.at("anatomy").at("buckets").empty());
  }
  EXPECT_EQ(value["rows"][0].at("efficiency"), 1);
  EXPECT_TRUE(value.at("machine").at("cpu").contains("model"));

  const CommandResult projected = lockstep({"bench", "project", "--from", file, "--ranks", "16:64", "--network",
                                            "hdr-ib,ranks_per_node=2,intra=pcie3", "--json"});
  ASSERT_EQ(projected.exit_code, 0) << projected.err;
  const json rows = json::parse(projected.out);
  EXPECT_EQ(rows.at("kind"), "projection");
  EXPECT_EQ(rows.at("rows").size(), 9U);
  EXPECT_EQ(rows.at("measured").size(), 2U);
  EXPECT_EQ(rows.at("rows")[0].at("algorithm"), "ring");
}

// Beside a lockstep-torch whose second rank of three fails.
TEST(BenchScaling, NamesASizeThatFailsAndKeepsTheOthers) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "bin");
  const std::string program = folder.path() / "bin/lockstep";
  std::filesystem::copy_file(program_path("lockstep"), program);
  const auto stand_in =
      folder.write("bin/lockstep-torch", "#!/bin/sh\n[ \"$RANK/$WORLD_SIZE\" != 1/3 ] || exit 9\nexec " +
                                             program_path("lockstep-torch") + " \"$@\"\n");
  std::filesystem::permissions(stand_in, std::filesystem::perms::owner_all);
  const CommandResult result = run_command({program, "bench", "scaling", "--model", "mnist", "--ranks", "3,1", "-b",
                                            "3", "--strong", "--rounds", "1", "--seconds", "0.05", "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const json rows = json::parse(result.out).at("rows");
  EXPECT_EQ(rows.at(0).at("ranks"), 1);
  EXPECT_EQ(rows.at(0).at("batch"), 3);
  EXPECT_GT(rows.at(0).at("samples_per_second"), 0);
  EXPECT_EQ(rows.at(1).at("failure"), "exit code 9 in round 1");
  EXPECT_THAT(result.err, HasSubstr("3 ranks: exit code 9"));
}

TEST(BenchScaling, SaysWhatRanksSaidWhereAllFail) {
  const CommandResult none = lockstep({"bench", "scaling", "--model", "resnet51", "--ranks", "1", "--rounds", "1"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, AllOf(HasSubstr("did you mean"), HasSubstr("every size failed")));
}

TEST(BenchScaling, RefusesWhatMakesNoSense) {
  const auto refusal = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"bench", "scaling", "--model", "mnist"});
    const CommandResult result = lockstep(words);
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_THAT(refusal({}), HasSubstr("--ranks"));
  EXPECT_THAT(refusal({"--ranks", "0"}), HasSubstr("--ranks"));
  EXPECT_THAT(refusal({"--ranks", "1,2", "--weak", "--strong"}), HasSubstr("--strong"));
  EXPECT_THAT(refusal({"--ranks", "1,3", "--strong", "-b", "4"}), HasSubstr("divided evenly"));
  EXPECT_THAT(refusal({"--ranks", "1", "--mode", "none"}), HasSubstr("ddp, optimizer, zero or sync"));
  EXPECT_THAT(refusal({"--ranks", "1", "--backend", "mpi"}), HasSubstr("launcher of its own"));
}

TEST(BenchProject, TakesAPublishedCaseAsItIs) {
  const std::string file = kSource / "bench/published/horovod-vgg16.json";
  const CommandResult result = lockstep({"bench", "project", "--from", file, "--ranks", "512"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("25GbE-rdma"), HasSubstr("hierarchical"), HasSubstr("nothing here was measured")));
  EXPECT_THAT(lockstep({"bench", "project", "--from", file, "--network", "hdr_ib"}).err,
              HasSubstr("did you mean 'hdr-ib'?"));
  EXPECT_EQ(lockstep({"bench", "project", "--from", "/nowhere"}).exit_code, 2);
}

TEST(BenchStep, WritesOneTimelineOfAllRanks) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "trace.json";
  const CommandResult result =
      lockstep({"bench", "step", "-n", "2", "--model", "mnist", "--batch", "2", "--rounds", "1", "--seconds", "0.01",
                "--trace", "steps=20:23", "--trace-file", file, "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json told = json::parse(result.out), trace = json::parse(content(file));
  EXPECT_EQ(told.at("trace").at("file"), file);
  EXPECT_EQ(told.at("trace").at("steps"), 3);
  EXPECT_EQ(trace.at("otherData").at("first_step"), 20);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(names_of(trace, rank), ::testing::IsSupersetOf({"iteration", "data", "forward", "loss", "backward",
                                                                "all_reduce", "all_reduce.wait", "optimizer.step"}));
  }
  EXPECT_THAT(result.err, AllOf(HasSubstr("3 steps traced"), HasSubstr("slowest: rank"), HasSubstr("exposed")));
  EXPECT_EQ(lockstep({"bench", "step", "--trace", "10-15"}).exit_code, 2);
  EXPECT_EQ(lockstep({"bench", "step", "--trace-file", file}).exit_code, 2);
}

TEST(Train, WritesATimelineIntoItsFolderFromWhichOneCanProject) {
  const TemporaryFolder folder;
  const std::string run = folder.path() / "run";
  const CommandResult result = lockstep({"train",   "-a",
                                         "lenet",   "synthetic",
                                         "-n",      "2",
                                         "--trace", "steps=10:20",
                                         "--set",   "output=" + run,
                                         "--set",   "data.samples=192",
                                         "--set",   "batch_size=12",
                                         "--set",   "steps=24",
                                         "--set",   "threads=1",
                                         "--set",   "checkpoint.every_steps=15",
                                         "--set",   "device=cpu",
                                         "--set",   "log_every=4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json trace = json::parse(content(std::filesystem::path(run) / "trace.json"));
  // An epoch of 16 steps ends within, and is evaluated.
  EXPECT_THAT(names_of(trace, 1),
              ::testing::IsSupersetOf({"iteration", "data", "backward", "all_reduce", "checkpoint"}));
  EXPECT_THAT(result.err, HasSubstr("10 steps traced"));
  const CommandResult projected =
      lockstep({"bench", "project", "--from", run, "--ranks", "64", "--network", "edr-ib", "--json"});
  ASSERT_EQ(projected.exit_code, 0) << projected.err;
  EXPECT_EQ(json::parse(projected.out).at("measured").at(0).at("ranks"), 2);
}

}  // namespace
}  // namespace lockstep::test
