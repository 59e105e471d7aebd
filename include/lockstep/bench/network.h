// A network as a model of all-reduce sees it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::bench {

// What one message pays: latency once, and its bytes at the bandwidth.
struct Link {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes a second, in each direction
};

// Nodes with some ranks each. The link between nodes belongs to a node, and its ranks share it; the one inside belongs
// to a rank.
struct Network {
  std::string text;  // as it was given
  Link between, inside;
  int ranks_per_node = 1;

  std::int64_t nodes(std::int64_t ranks) const { return (ranks + ranks_per_node - 1) / ranks_per_node; }
};

// "latency=2us,bandwidth=100Gb/s,ranks_per_node=8,intra_latency=1us,intra_bandwidth=150GB/s". The name of a preset may
// stand before the rest, and intra=NAME takes the inside from one; later words win. What is said of the inside may be
// left out where a node has one rank. Throws UsageError for what it does not understand, and for what is missing.
Network parse_network(const std::string& text);

// The names that parse_network knows, each with a few words.
struct NetworkPreset {
  std::string name, words;
  Link link;
  bool is_inside = false;
};
const std::vector<NetworkPreset>& network_presets();

enum class Algorithm { kRing, kTree, kHierarchical };
const char* to_text(Algorithm algorithm);
Algorithm parse_algorithm(const std::string& name);

// Seconds of an all-reduce of so many bytes over so many ranks:
//   ring          2(p-n) inside + 2(n-1) between, in latencies; 2(p-1)/p of the bytes over the slower link
//   tree          double binary, over nodes whose ranks are chains: 2(r-1) inside + 2 log2(n) between; twice the bytes
//                 over the slower link
//   hierarchical  rings within nodes, halving and doubling between them: 2(r-1) inside + 2 log2(n) between;
//                 2(r-1)/r of the bytes inside, then 2(n-1)/n of them between
// with p ranks on n nodes of r.
double all_reduce_seconds(const Network& network, Algorithm algorithm, std::int64_t ranks, double bytes);

}  // namespace lockstep::bench
