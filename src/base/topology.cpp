#include <lockstep/base/topology.h>

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <memory>

#include <lockstep/base/errors.h>

namespace lockstep {
namespace {

using HwlocTopology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

HwlocTopology start() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw RuntimeError("hwloc cannot start");
  return {raw, &hwloc_topology_destroy};
}

std::string list_text(hwloc_const_bitmap_t set) {
  std::array<char, 256> text{};
  hwloc_bitmap_list_snprintf(text.data(), text.size(), set);
  return text.data();
}

std::vector<int> to_numbers(hwloc_const_bitmap_t set) {
  std::vector<int> numbers;
  for (int number = hwloc_bitmap_first(set); number >= 0; number = hwloc_bitmap_next(set, number)) {
    numbers.push_back(number);
  }
  return numbers;
}

int package_of(hwloc_topology_t topology, hwloc_obj_t object) {
  const hwloc_obj* package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
  return package == nullptr ? 0 : static_cast<int>(package->logical_index);
}

std::vector<Core> usable_cores(hwloc_topology_t topology) {
  const Bitmap mask(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology, mask.get(), HWLOC_CPUBIND_PROCESS) != 0) hwloc_bitmap_fill(mask.get());
  const Bitmap cpus(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  std::vector<Core> cores;
  // Some virtual machines tell of no cores, only of hardware threads.
  const auto type = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr;) {
    hwloc_bitmap_and(cpus.get(), mask.get(), core->cpuset);
    if (hwloc_bitmap_iszero(cpus.get())) continue;
    // A core may have several nodes: on Knights Landing in flat mode the fast memory is one more. The first is the
    // usual memory.
    cores.push_back({.cpus = to_numbers(cpus.get()),
                     .numa_node = std::max(0, hwloc_bitmap_first(core->nodeset)),
                     .package = package_of(topology, core)});
  }
  return cores;
}

Topology summarize(hwloc_topology_t topology) {
  Topology result;
  result.packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
  result.cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  result.hardware_threads = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  result.usable = usable_cores(topology);
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    result.numa_nodes.push_back({.number = static_cast<int>(node->os_index),
                                 .cpus = list_text(node->cpuset),
                                 .memory_bytes = node->attr->numanode.local_memory});
  }
  return result;
}

}  // namespace

Topology read_topology() {
  const HwlocTopology topology = start();
  if (hwloc_topology_load(topology.get()) != 0) {
    throw RuntimeError({.message = "hwloc cannot read this machine's topology", .next = "check that /sys is mounted"});
  }
  return summarize(topology.get());
}

Topology describe_topology(const std::string& synthetic) {
  const HwlocTopology topology = start();
  if (hwloc_topology_set_synthetic(topology.get(), synthetic.c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0) {
    throw UsageError({.message = "hwloc does not understand the description of a machine",
                      .found = "'" + synthetic + "'",
                      .expected = "such as 'pack:2 numa:1 core:28 pu:2'"});
  }
  return summarize(topology.get());
}

}  // namespace lockstep
