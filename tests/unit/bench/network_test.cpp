#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/bench/network.h>

namespace lockstep::test {
namespace {

using namespace bench;

TEST(Network, IsReadFromWords) {
  const Network network =
      parse_network("latency=2us,bandwidth=100Gb/s,ranks_per_node=8,intra_latency=500ns,intra_bandwidth=150GB/s");
  EXPECT_DOUBLE_EQ(network.between.latency, 2e-6);
  EXPECT_DOUBLE_EQ(network.between.bandwidth, 12.5e9);
  EXPECT_DOUBLE_EQ(network.inside.latency, 5e-7);
  EXPECT_DOUBLE_EQ(network.inside.bandwidth, 150e9);
  EXPECT_EQ(network.nodes(17), 3);
}

TEST(Network, MayBeginWithAPreset) {
  const Network network = parse_network("hdr-ib,bandwidth=2TB/s,ranks_per_node=4,intra=nvlink3");
  EXPECT_DOUBLE_EQ(network.between.bandwidth, 2e12);
  EXPECT_GT(network.between.latency, 0);
  EXPECT_DOUBLE_EQ(network.inside.bandwidth, 240e9);
  for (const NetworkPreset& preset : network_presets()) EXPECT_NO_THROW(parse_network(preset.name)) << preset.name;
}

TEST(Network, RefusesWhatItDoesNotUnderstand) {
  for (const char* text :
       {"", "hdr", "latency=2us", "latency=2,bandwidth=1GB/s", "latency=-1us,bandwidth=1GB/s",
        "latency=nanus,bandwidth=1GB/s", "latency=infs,bandwidth=1GB/s", "latency=0us,bandwidth=1GB/s",
        "latency=2us,bandwidth=1Gb", "hdr-ib,ranks_per_node=4", "hdr-ib,ranks_per_node=0,intra=nvlink4",
        "hdr-ib,speed=3", "hdr-ib,nvlink4", "hdr-ib,intra=nvlink9", "hdr-ib,,"}) {
    EXPECT_THROW(parse_network(text), UsageError) << text;
  }
}

TEST(AllReduceModel, IsWhatTheFormulasSay) {
  // 8 ranks on 2 nodes; latencies of 1 ms and 10 ms, 1 GB/s and 0.1 GB/s, 1 GB.
  const Network network =
      parse_network("latency=10ms,bandwidth=100MB/s,ranks_per_node=4,intra_latency=1ms,intra_bandwidth=1GB/s");
  EXPECT_DOUBLE_EQ(all_reduce_seconds(network, Algorithm::kRing, 8, 1e9), 0.012 + 0.020 + 2.0 * 7 / 8 * 10);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(network, Algorithm::kTree, 8, 1e9), 0.006 + 0.020 + 20);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(network, Algorithm::kHierarchical, 8, 1e9), 0.006 + 0.020 + 1.5 + 10);
  // Within one node nothing goes through the network.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(network, Algorithm::kRing, 4, 1e9), 0.006 + 1.5);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(network, Algorithm::kRing, 1, 1e9), 0);
}

TEST(AllReduceModel, IsALargeRingsLatencyAndATreesLogarithm) {
  const Network network = parse_network("latency=10us,bandwidth=100Gb/s");
  EXPECT_NEAR(all_reduce_seconds(network, Algorithm::kRing, 1024, 4), 2 * 1023 * 10e-6, 1e-8);
  EXPECT_NEAR(all_reduce_seconds(network, Algorithm::kTree, 1024, 4), 2 * 10 * 10e-6, 1e-8);
  EXPECT_NEAR(all_reduce_seconds(network, Algorithm::kHierarchical, 1024, 4), 2 * 10 * 10e-6, 1e-8);
}

}  // namespace
}  // namespace lockstep::test
