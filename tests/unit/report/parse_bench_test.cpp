#include "report/parse_bench.h"

#include <dlfcn.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include <lockstep/base/errors.h>
#include <lockstep/base/machine_report.h>

namespace lockstep::report {
namespace {

template <typename Content>
Content parsed(const char* text) {
  return std::get<Content>(parse_bench(text).content);
}

TEST(ParseBench, ReadsAScaling) {
  const auto scaling = parsed<Scaling>(R"({"kind":"scaling","model":"resnet50","device":"cpu","mode":"ddp",
    "scaling":"weak","batch":32,"precision":"fp32","rows":[{"ranks":2,"nodes":1,"samples_per_second":19.5,"least":19,
    "greatest":20,"milliseconds":3282,"efficiency":0.96875,"split":{"data":0.25,"compute":0.75,"communication":null}}]})");
  EXPECT_EQ(scaling.model, "resnet50");
  EXPECT_EQ(scaling.kind, "weak");
  ASSERT_EQ(scaling.rows.size(), 1U);
  EXPECT_EQ(scaling.rows[0].ranks, 2);
  EXPECT_EQ(scaling.rows[0].rate.median, 19.5);
  EXPECT_EQ(scaling.rows[0].rate.greatest, 20);
  EXPECT_EQ(scaling.rows[0].efficiency, 0.96875);
  EXPECT_EQ(scaling.rows[0].split.data, 0.25);
  EXPECT_TRUE(std::isnan(scaling.rows[0].split.communication));
}

TEST(ParseBench, ReadsAProjection) {
  const auto projection = parsed<Projection>(R"({"kind":"projection","from":"a.json","network":"100 Gb/s","rows":[
    {"ranks":16,"algorithm":"ring","samples_per_second":700,"efficiency":0.875}],"measured":[
    {"ranks":1,"samples_per_second":50}]})");
  EXPECT_EQ(projection.rows.at(0).algorithm, "ring");
  EXPECT_EQ(projection.rows.at(0).efficiency, 0.875);
  EXPECT_EQ(projection.measured.at(0).rate.median, 50);
}

// Results that were printed before they had a kind.
TEST(ParseBench, TellsKindsByTheirFields) {
  EXPECT_EQ(parsed<Steps>(R"({"model":"lenet","batch":8,"ranks":2,"modes":[{"mode":"ddp","samples_per_second":5,
    "data_wait":0.5}]})")
                .rows.at(0)
                .split.data,
            0.5);
  EXPECT_EQ(parsed<Ladder>(R"({"model":"lenet","rungs":[{"rung":"first","speedup":1.5}]})").rungs.at(0).speedup, 1.5);
  EXPECT_EQ(parsed<Loader>(R"({"path":"x","augmentation":"none","workers":2,"samples_per_second":9})").rate.median, 9);
  EXPECT_EQ(parsed<AllReduce>(R"({"backend":"local","ranks":2,"rows":[{"bytes":4096,"busbw_gb_per_s":2.5}]})")
                .rows.at(0)
                .bus_bandwidth,
            2.5);
}

TEST(ParseBench, RefusesWhatIsFromElsewhere) {
  for (const char* text : {"", "{", "[]", "3", "{}", R"({"kind":"other"})", R"({"kind":7})", R"({"rungs":[]})",
                           R"({"rungs":[3]})", R"({"kind":"scaling","rows":{}})"}) {
    EXPECT_THROW(parse_bench(text), UsageError) << text;
  }
}

TEST(ParseBench, TakesWordsInPlaceOfNumbersAsUnknown) {
  const auto scaling = parsed<Scaling>(R"({"kind":"scaling","model":7,"rows":[{"ranks":"two","split":[]}]})");
  EXPECT_EQ(scaling.model, "");
  EXPECT_TRUE(std::isnan(scaling.rows[0].ranks) && std::isnan(scaling.rows[0].split.compute));
}

// What libraries of others keep from when they are loaded is a leak to the sanitizer once they are gone; here they
// stay.
TEST(MachineFacts, TellThisMachine) {
  for (const char* file : {"libmpi.so.40", "libmpich.so.12", "libfabric.so.1", "libnccl.so.2"}) {
    ::dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  }
  const auto facts = machine_facts(nlohmann::json::parse(machine_report().dump()));
  std::vector<std::string> names;
  for (const Fact& fact : facts) names.push_back(fact.name);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"lockstep", "cpu", "cores", "memory", "gpus", "backends"}));
}

TEST(MachineFacts, SurviveAnyForm) {
  EXPECT_TRUE(machine_facts(nullptr).empty());
  EXPECT_TRUE(machine_facts(nlohmann::json::parse(R"({"cpu":[1],"gpu":{"devices":7},"backends":{"a":1}})")).empty());
}

}  // namespace
}  // namespace lockstep::report
