#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/bench/projection.h>

#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace bench;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::filesystem::path kSource = test::source_path();

// 100 ms a step, 60 of them backward; two buckets of 1 MB, ready 20 ms and 60 ms into it. 10 samples a rank.
Measured measured() {
  return {.name = "net",
          .sizes = {{.ranks = 1, .samples_per_second = 100}},
          .samples_of_rank = 10,
          .step = {.step = 100, .forward = 40, .backward = 60, .buckets = {{1'000'000, 20}, {1'000'000, 60}}}};
}

ProjectedRow one(const Measured& from, const std::string& network, std::int64_t ranks, double megabytes = 0,
                 std::optional<double> jitter = {}) {
  return project(from, {.ranks = {ranks},
                        .network = parse_network(network),
                        .algorithms = {Algorithm::kRing},
                        .bucket_megabytes = megabytes,
                        .jitter = jitter})
      .at(0);
}

TEST(Projection, HidesABucketBehindTheRestOfBackward) {
  // Of 1 MB two ranks send 1 MB each: 10 ms. The first bucket is hidden, the second is not.
  const ProjectedRow row = one(measured(), "latency=1ns,bandwidth=100MB/s", 2);
  EXPECT_NEAR(row.communication, 20, 1e-3);
  EXPECT_NEAR(row.exposed, 10, 1e-3);
  EXPECT_NEAR(row.milliseconds, 110, 1e-3);
  EXPECT_NEAR(row.efficiency, 100.0 / 110, 1e-4);
  EXPECT_NEAR(row.samples_per_second, 2 * 10 / 0.110, 1e-2);
}

TEST(Projection, LetsBucketsWaitForOneAnother) {
  // 50 ms each: the second begins when the first is through, 70 ms into backward, and ends at 120.
  EXPECT_NEAR(one(measured(), "latency=1ns,bandwidth=20MB/s", 2).exposed, 60, 1e-3);
}

TEST(Projection, SendsMergedBucketsWhenTheLastOfThemIsReady) {
  EXPECT_NEAR(one(measured(), "latency=1ns,bandwidth=100MB/s", 2, 25).exposed, 20, 1e-3);
  EXPECT_NEAR(one(measured(), "latency=1ns,bandwidth=100MB/s", 2, 1).exposed, 10, 1e-3);
}

TEST(Projection, WaitsForTheSlowestOfManyRanks) {
  Measured from = measured();
  from.step.jitter = 0.01;
  // The largest of 2 and of 1024 normal values: 0.564 and 3.2 (Blom: 0.589 and 3.23).
  EXPECT_NEAR(one(from, "latency=1ns,bandwidth=100TB/s", 2).waiting, 0.564, 0.03);
  EXPECT_NEAR(one(from, "latency=1ns,bandwidth=100TB/s", 1024).waiting, 3.2, 0.05);
  EXPECT_EQ(one(from, "latency=1ns,bandwidth=100TB/s", 1).waiting, 0);
  EXPECT_EQ(one(from, "latency=1ns,bandwidth=100TB/s", 1024, 0, 0.0).waiting, 0);
}

TEST(Projection, ReadsSizesOfJobs) {
  EXPECT_THAT(parse_sizes_of_job("16:100"), ElementsAre(16, 32, 64));
  EXPECT_THAT(parse_sizes_of_job("3,5"), ElementsAre(3, 5));
  for (const char* text : {"", ":", "8:4", "0:4", "a", "1,,2", "1:99999999999999"}) {
    EXPECT_THROW(parse_sizes_of_job(text), UsageError) << text;
  }
}

json scaling_file() {
  const json anatomy = {{"step_milliseconds", 50},
                        {"data_milliseconds", 0},
                        {"forward_milliseconds", 20},
                        {"backward_milliseconds", 30},
                        {"update_milliseconds", 0},
                        {"jitter", 0},
                        {"buckets", {{{"bytes", 4}, {"ready_milliseconds", 30}}}}};
  const auto row = [&](int ranks, double compute, bool shared) {
    return json{
        {"ranks", ranks},           {"batch", 8},        {"samples_per_second", 100}, {"compute_milliseconds", compute},
        {"oversubscribed", shared}, {"anatomy", anatomy}};
  };
  return {{"kind", "scaling"}, {"model", "m"}, {"rows", {row(1, 50, false), row(2, 100, false), row(4, 900, true)}}};
}

TEST(Measured, IsTheLargestSizeWhoseRanksHadCoresOfTheirOwn) {
  const TemporaryFolder folder;
  const Measured found = read_measured(folder.write("scaling.json", scaling_file().dump()));
  EXPECT_EQ(found.sizes.size(), 3U);
  EXPECT_DOUBLE_EQ(found.step.step, 100);
  EXPECT_DOUBLE_EQ(found.step.backward, 60);
  EXPECT_DOUBLE_EQ(found.step.buckets.at(0).ready, 60);
  EXPECT_EQ(found.samples_of_rank, 8);
}

TEST(Measured, RefusesWhatNothingFollowsFrom) {
  const TemporaryFolder folder;
  const auto refuses = [&](const json& value) {
    EXPECT_THROW(read_measured(folder.write("scaling.json", value.dump())), UsageError) << value.dump();
  };
  refuses({{"kind", "ladder"}});
  refuses({{"kind", "scaling"}, {"rows", json::array()}});
  refuses({{"kind", "scaling"}, {"rows", {{{"ranks", 1}, {"failure", "exit code 1"}}}}});
  refuses(json::array());
  for (const char* key : {"anatomy", "samples_per_second", "ranks", "batch", "compute_milliseconds"}) {
    json value = scaling_file();
    for (json& row : value["rows"]) row.erase(key);
    refuses(value);
  }
  json value = scaling_file();
  value["rows"][0]["samples_per_second"] = 0;
  refuses(value);
  EXPECT_THROW(read_measured(folder.write("broken.json", "{")), UsageError);
  EXPECT_THROW(read_measured(folder.path() / "missing.json"), UsageError);
  EXPECT_THROW(read_measured(folder.path()), UsageError);
}

// The table of docs/scaling.md is what the model says of the files in bench/published.
TEST(PublishedCases, StandInTheDocumentAsTheyAreComputed) {
  const std::string page = content(kSource / "docs" / "scaling.md");
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "bench" / "published")) {
    const json value = json::parse(content(entry.path()));
    for (const json& published : value.at("published")) {
      const ProjectedRow row =
          project(read_measured(entry.path().string()), {.ranks = {published.at("ranks").get<std::int64_t>()},
                                                         .network = parse_network(value.at("network")),
                                                         .algorithms = {parse_algorithm(value.at("algorithm"))},
                                                         .bucket_megabytes = value.at("bucket_megabytes")})
              .at(0);
      const double told = published.at("efficiency");
      EXPECT_THAT(
          page, HasSubstr(fmt::format("| {} | {} | {:.1f}% | {:.1f}% | {:+.1f} |", value.at("model").get<std::string>(),
                                      row.ranks, told * 100, row.efficiency * 100, (row.efficiency - told) * 100)));
      ++cases;
    }
  }
  EXPECT_EQ(cases, 10U);
}

}  // namespace
}  // namespace lockstep::test
