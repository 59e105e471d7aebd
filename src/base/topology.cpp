#include <lockstep/base/topology.h>

#include <hwloc.h>

#include <array>
#include <memory>

#include <lockstep/base/errors.h>

namespace lockstep {
namespace {

using HwlocTopology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

HwlocTopology load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw RuntimeError("hwloc cannot start");
  HwlocTopology topology(raw, &hwloc_topology_destroy);
  if (hwloc_topology_load(raw) != 0) {
    throw RuntimeError({.message = "hwloc cannot read this machine's topology", .next = "check that /sys is mounted"});
  }
  return topology;
}

std::string list_text(hwloc_const_bitmap_t set) {
  std::array<char, 256> text{};
  hwloc_bitmap_list_snprintf(text.data(), text.size(), set);
  return text.data();
}

int count_usable_cores(hwloc_topology_t topology) {
  const Bitmap mask(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology, mask.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  }
  int count = 0;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr;) {
    count += hwloc_bitmap_intersects(mask.get(), core->cpuset);
  }
  return count;
}

}  // namespace

Topology read_topology() {
  const HwlocTopology handle = load();
  hwloc_topology_t topology = handle.get();
  Topology result;
  result.packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
  result.cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  result.hardware_threads = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  result.usable_cores = count_usable_cores(topology);
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    result.numa_nodes.push_back({.number = static_cast<int>(node->os_index),
                                 .cpus = list_text(node->cpuset),
                                 .memory_bytes = node->attr->numanode.local_memory});
  }
  return result;
}

}  // namespace lockstep
