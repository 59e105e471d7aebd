#include <lockstep/bench/network.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::bench {
namespace {

constexpr double kMicro = 1e-6, kGigabit = 1e9 / 8, kGigabyte = 1e9;

struct Unit {
  const char* name;
  double factor;
};
constexpr Unit kTimes[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
constexpr Unit kRates[] = {{"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8},
                           {"MB/s", 1e6},     {"GB/s", 1e9},     {"TB/s", 1e12}};

[[noreturn]] void refuse(const std::string& word, const std::string& expected) {
  throw UsageError({.message = "the network is not understood", .found = word, .expected = expected});
}

// "2us": a number above 0 with one of the units.
template <std::size_t Count>
double parse_quantity(const std::string& key, const std::string& text, const Unit (&units)[Count]) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  if (error == std::errc{} && std::isfinite(number) && number > 0) {
    for (const Unit& each : units) {
      if (unit == each.name) return number * each.factor;
    }
  }
  std::vector<std::string> names;
  for (const Unit& each : units) names.emplace_back(each.name);
  refuse(key + "=" + text, "a number above 0 with " + format_some(names, names.size()));
}

int parse_count(const std::string& key, const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1 || number > 4096) {
    refuse(key + "=" + text, "a whole number from 1 to 4096");
  }
  return number;
}

const NetworkPreset& preset(const std::string& name) {
  std::vector<std::string> names;
  for (const NetworkPreset& each : network_presets()) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw UsageError({.message = fmt::format("there is no network '{}'{}", name, did_you_mean(name, names)),
                    .expected = format_some(names, names.size()) + ", or latency=... and bandwidth=..."});
}

void take(Network& network, const std::string& key, const std::string& value) {
  if (key == "latency") {
    network.between.latency = parse_quantity(key, value, kTimes);
  } else if (key == "bandwidth") {
    network.between.bandwidth = parse_quantity(key, value, kRates);
  } else if (key == "intra_latency") {
    network.inside.latency = parse_quantity(key, value, kTimes);
  } else if (key == "intra_bandwidth") {
    network.inside.bandwidth = parse_quantity(key, value, kRates);
  } else if (key == "ranks_per_node") {
    network.ranks_per_node = parse_count(key, value);
  } else if (key == "intra") {
    network.inside = preset(value).link;
  } else {
    const std::vector<std::string> keys = {"latency",         "bandwidth",      "intra_latency",
                                           "intra_bandwidth", "ranks_per_node", "intra"};
    throw UsageError({.message = fmt::format("a network has no '{}'{}", key, did_you_mean(key, keys)),
                      .expected = format_some(keys, keys.size())});
  }
}

}  // namespace

const std::vector<NetworkPreset>& network_presets() {
  // docs/scaling.md says where each number is from.
  static const std::vector<NetworkPreset> presets = {
      {"10GbE", "TCP over 10 Gb/s Ethernet", {30 * kMicro, 10 * kGigabit}},
      {"25GbE", "TCP over 25 Gb/s Ethernet", {30 * kMicro, 25 * kGigabit}},
      {"25GbE-rdma", "RoCE over 25 Gb/s Ethernet", {14 * kMicro, 25 * kGigabit}},
      {"50GbE", "TCP over 50 Gb/s Ethernet", {30 * kMicro, 50 * kGigabit}},
      {"100GbE-rdma", "RoCE over 100 Gb/s Ethernet", {14 * kMicro, 100 * kGigabit}},
      {"edr-ib", "InfiniBand EDR, 100 Gb/s", {14 * kMicro, 100 * kGigabit}},
      {"hdr-ib", "InfiniBand HDR, 200 Gb/s", {14 * kMicro, 200 * kGigabit}},
      {"ndr-ib", "InfiniBand NDR, 400 Gb/s", {14 * kMicro, 400 * kGigabit}},
      {"aries", "Cray XC's network, from a node", {3.7 * kMicro, 8 * kGigabyte}},
      {"slingshot", "Slingshot 11, one adapter", {14 * kMicro, 200 * kGigabit}},
      {"pcie3", "GPUs on PCI Express 3", {5.7 * kMicro, 12 * kGigabyte}, true},
      {"nvlink1", "P100, four NVLinks", {3.4 * kMicro, 72 * kGigabyte}, true},
      {"nvlink2", "V100, six NVLinks", {3.4 * kMicro, 120 * kGigabyte}, true},
      {"nvlink3", "A100, twelve NVLinks", {3.4 * kMicro, 240 * kGigabyte}, true},
      {"nvlink4", "H100 and H200, eighteen NVLinks", {3.4 * kMicro, 370.8 * kGigabyte}, true},
  };
  return presets;
}

Network parse_network(const std::string& text) {
  Network network{.text = text};
  bool is_first = true;
  for (const std::string& word : split(text, ',')) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
      take(network, word.substr(0, equals), word.substr(equals + 1));
    } else if (is_first) {
      network.between = preset(word).link;
    } else {
      refuse(word, "KEY=VALUE behind the first word");
    }
    is_first = false;
  }
  if (network.between.bandwidth == 0 || network.between.latency == 0) {
    throw UsageError({.message = "the network between nodes is not whole",
                      .found = text,
                      .expected = "a preset's name, or latency=... and bandwidth=..."});
  }
  if (network.ranks_per_node > 1 && (network.inside.bandwidth == 0 || network.inside.latency == 0)) {
    throw UsageError({.message = "a node has several ranks, and nothing is said of what links them",
                      .found = text,
                      .expected = "intra=NAME, or intra_latency=... and intra_bandwidth=..."});
  }
  return network;
}

const char* to_text(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kHierarchical:
      return "hierarchical";
  }
  return "";
}

Algorithm parse_algorithm(const std::string& name) {
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kTree, Algorithm::kHierarchical}) {
    if (name == to_text(algorithm)) return algorithm;
  }
  throw UsageError({.message = "there is no such all-reduce", .found = name, .expected = "ring, tree, hierarchical"});
}

double all_reduce_seconds(const Network& network, Algorithm algorithm, std::int64_t ranks, double bytes) {
  if (ranks <= 1) return 0;
  const auto p = static_cast<double>(ranks);
  const auto n = static_cast<double>(network.nodes(ranks));
  const double r = std::min<double>(network.ranks_per_node, p);
  const Link &between = network.between, &inside = network.inside;
  double slower = n > 1 ? between.bandwidth : inside.bandwidth;
  if (n > 1 && r > 1) slower = std::min(slower, inside.bandwidth);
  const double levels = std::ceil(std::log2(n));
  switch (algorithm) {
    case Algorithm::kRing:
      return 2 * (p - n) * inside.latency + 2 * (n - 1) * between.latency + 2 * (p - 1) / p * bytes / slower;
    case Algorithm::kTree:
      return 2 * (r - 1) * inside.latency + 2 * levels * between.latency + 2 * bytes / slower;
    case Algorithm::kHierarchical: {
      double seconds = 2 * (r - 1) * inside.latency + 2 * levels * between.latency;
      if (r > 1) seconds += 2 * (r - 1) / r * bytes / inside.bandwidth;
      if (n > 1) seconds += 2 * (n - 1) / n * bytes / between.bandwidth;
      return seconds;
    }
  }
  return 0;
}

}  // namespace lockstep::bench
