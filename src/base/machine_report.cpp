#include <lockstep/base/machine_report.h>

#include <dlfcn.h>

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/cpu.h>
#include <lockstep/base/files.h>
#include <lockstep/base/gpus.h>
#include <lockstep/base/placement.h>
#include <lockstep/base/table.h>
#include <lockstep/base/text.h>
#include <lockstep/base/topology.h>
#include <lockstep/base/version.h>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json build_section() {
  return {{"version", version()},
          {"revision", revision()},
          {"compiler", compiler()},
          {"libtorch", torch_version_at_build()},
          {"cpu_base", cpu::build_base()}};
}

Json cpu_section() {
  const Topology topology = read_topology();
  Json nodes = Json::array();
  for (const NumaNode& node : topology.numa_nodes) {
    nodes.push_back({{"node", node.number}, {"cpus", node.cpus}, {"memory_bytes", node.memory_bytes}});
  }
  return {{"model", cpu::model_name()},
          {"level", cpu::highest_level()},
          {"instruction_sets", cpu::instruction_sets()},
          {"libtorch_kernels", cpu::torch_capability()},
          {"own_kernels", cpu::to_text(cpu::kernel_level())},
          {"packages", topology.packages},
          {"cores", topology.cores},
          {"hardware_threads", topology.hardware_threads},
          {"usable_cores", topology.usable_cores()},
          {"numa_nodes", nodes}};
}

Json gpu_section() {
  const GpuList list = list_gpus();
  Json gpus = Json::array();
  for (const Gpu& gpu : list.gpus) {
    gpus.push_back({{"name", gpu.name}, {"pci_address", gpu.pci_address}, {"memory_bytes", gpu.memory_bytes}});
  }
  return {{"driver", list.driver_version}, {"devices", gpus}, {"missing", list.missing}};
}

Json found(const std::string& name, const std::string& detail) {
  return {{"name", name}, {"found", true}, {"detail", detail}};
}

Json missing(const std::string& name, const std::string& next) {
  return {{"name", name}, {"found", false}, {"detail", next}};
}

// A library that is found by the name that the dynamic linker knows it by.
Json system_library(const std::string& name, const char* file, const std::string& next) {
  void* library = ::dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return missing(name, next);
  ::dlclose(library);
  return found(name, file);
}

Json below_lib(const std::string& name, const std::filesystem::path& file, const std::string& next) {
  std::error_code ignored;
  const auto path = std::filesystem::weakly_canonical(files::installation_folder() / "lib" / file, ignored);
  return std::filesystem::exists(path, ignored) ? found(name, path.string()) : missing(name, next);
}

Json library_section() {
  return Json::array({
      below_lib("libtorch", "lockstep/torch/lib/libtorch_cpu.so",
                "run lockstep-link-torch FOLDER, where FOLDER is that of a libtorch " + torch_version_at_build()),
      below_lib("libtorch for CUDA", "lockstep/torch/lib/libtorch_cuda.so", "link a libtorch that was built for CUDA"),
      system_library("Open MPI", "libmpi.so.40", "install openmpi-bin"),
      system_library("MPICH", "libmpich.so.12", "install mpich"),
      system_library("libfabric", "libfabric.so.1", "install libfabric1, which the backend ccl needs"),
      system_library("NCCL", "libnccl.so.2", "comes with the CUDA build of libtorch"),
  });
}

// The plugin must be in this installation, and the library that it was built with on this machine.
Json mpi_backend(const std::string& mpi, const std::string& plugin, const std::string& feature, const char* library,
                 const std::string& package) {
  const std::string name = "mpi (" + mpi + ")";
  Json built = below_lib(name, "lockstep/plugins/lockstep_" + plugin + ".so",
                         "build with -DLOCKSTEP_WITH_" + feature + "=ON where " + mpi + " is installed");
  if (!built["found"].get<bool>()) return built;
  Json there = system_library(name, library, "install " + package + ", or load the module of " + mpi);
  return there["found"].get<bool>() ? built : there;
}

// The plugin has oneCCL in it, but loads libfabric.
Json ccl_backend() {
  Json plugin = below_lib("ccl", "lockstep/plugins/lockstep_ccl.so",
                          "run scripts/setup --group ccl, then build with -DLOCKSTEP_WITH_CCL=ON");
  if (!plugin["found"].get<bool>()) return plugin;
  Json libfabric = system_library("ccl", "libfabric.so.1", "install libfabric1");
  return libfabric["found"].get<bool>() ? plugin : libfabric;
}

Json backend_section() {
  Json backends = Json::array({found("local", "shared memory, for CPU tensors of ranks on one node"),
                               found("gloo", "in libtorch; TCP, for CPU tensors")});
  backends.push_back(below_lib("nccl", "lockstep/plugins/lockstep_cuda.so", "build with -DLOCKSTEP_WITH_CUDA=ON"));
  backends.push_back(mpi_backend("Open MPI", "mpi_openmpi", "OPENMPI", "libmpi.so.40", "openmpi-bin"));
  backends.push_back(mpi_backend("MPICH", "mpi_mpich", "MPICH", "libmpich.so.12", "mpich"));
  backends.push_back(ccl_backend());
  return backends;
}

template <typename T>
Json optional_value(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json launch_section() {
  const Placement placement = discover_placement();
  return {{"source", placement.source},
          {"rank", placement.rank.rank},
          {"size", placement.rank.size},
          {"local_rank", optional_value(placement.local_rank)},
          {"local_size", optional_value(placement.local_size)},
          {"node", optional_value(placement.node)},
          {"master_address", placement.master_address},
          {"master_port", optional_value(placement.master_port)}};
}

std::string finding_lines(const Json& findings) {
  Table table({{.key = "name"}, {.key = "state"}, {.key = "detail"}});
  for (const Json& item : findings) {
    table.add_row({"  " + item["name"].get<std::string>(), std::string(item["found"].get<bool>() ? "found" : "missing"),
                   item["detail"].get<std::string>()});
  }
  const std::string text = table.to_text();
  return text.substr(text.find('\n') + 1);  // these lines need no heading
}

std::string cpu_lines(const Json& cpu) {
  std::string text = fmt::format("cpu: {}\n", cpu["model"].get<std::string>());
  text += fmt::format("  {} on {}; {} usable by this process\n", format_plural(cpu["cores"].get<int>(), "core"),
                      format_plural(cpu["packages"].get<int>(), "package"), cpu["usable_cores"].get<int>());
  std::string sets;
  for (const Json& set : cpu["instruction_sets"]) sets += " " + set.get<std::string>();
  text += fmt::format("  {}:{}\n", cpu["level"].get<std::string>(), sets);
  text += fmt::format("  libtorch's kernels: {}; our own: {}\n", cpu["libtorch_kernels"].get<std::string>(),
                      cpu["own_kernels"].get<std::string>());
  for (const Json& node : cpu["numa_nodes"]) {
    text += fmt::format("  NUMA node {}: cpus {}, {}\n", node["node"].get<int>(), node["cpus"].get<std::string>(),
                        format_bytes(node["memory_bytes"].get<std::uint64_t>()));
  }
  return text;
}

std::string gpu_lines(const Json& gpu) {
  if (gpu["devices"].empty()) return fmt::format("gpus: none; {}\n", gpu["missing"].get<std::string>());
  std::string text = fmt::format("gpus: driver {}\n", gpu["driver"].get<std::string>());
  for (const Json& device : gpu["devices"]) {
    text += fmt::format("  {} ({}), {}\n", device["name"].get<std::string>(), device["pci_address"].get<std::string>(),
                        format_bytes(device["memory_bytes"].get<std::uint64_t>()));
  }
  return text;
}

std::string launch_lines(const Json& launch) {
  std::string text = fmt::format("launch environment: {}\n", launch["source"].get<std::string>());
  text += fmt::format("  rank {} of {}", launch["rank"].get<int>(), launch["size"].get<int>());
  if (!launch["local_rank"].is_null()) text += fmt::format(", local rank {}", launch["local_rank"].get<int>());
  if (!launch["local_size"].is_null()) text += fmt::format(" of {}", launch["local_size"].get<int>());
  if (!launch["node"].is_null()) text += fmt::format(", node {}", launch["node"].get<int>());
  const auto master = launch["master_address"].get<std::string>();
  if (!master.empty()) text += ", meeting at " + escape_controls(master);
  if (!launch["master_port"].is_null()) text += fmt::format(":{}", launch["master_port"].get<int>());
  return text + "\n";
}

}  // namespace

Json machine_report() {
  return {{"build", build_section()},      {"cpu", cpu_section()},           {"gpu", gpu_section()},
          {"backends", backend_section()}, {"libraries", library_section()}, {"launch", launch_section()}};
}

std::string machine_report_text(const Json& report) {
  const Json& build = report["build"];
  const auto commit = build["revision"].get<std::string>();
  std::string text =
      fmt::format("lockstep {}{}\n", build["version"].get<std::string>(), commit.empty() ? "" : " (" + commit + ")");
  text += fmt::format("  built with {} against libtorch {} for {} and newer\n", build["compiler"].get<std::string>(),
                      build["libtorch"].get<std::string>(), build["cpu_base"].get<std::string>());
  text += cpu_lines(report["cpu"]) + gpu_lines(report["gpu"]);
  text += "backends:\n" + finding_lines(report["backends"]);
  text += "libraries:\n" + finding_lines(report["libraries"]);
  return text + launch_lines(report["launch"]);
}

}  // namespace lockstep
