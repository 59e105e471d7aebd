#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/text.h>

#include "json_fields.h"
#include "parse_bench.h"

namespace lockstep::report {
namespace {

using Json = nlohmann::json;

std::string joined(const std::string& before, const std::string& next, const char* between = ", ") {
  return before.empty() || next.empty() ? before + next : before + between + next;
}

std::string count_text(const Json& object, const char* key, const char* noun) {
  const double count = number_in(object, key);
  return count >= 0 && count < 1e9 ? format_plural(static_cast<std::int64_t>(count), noun) : "";
}

std::string bytes_text(double bytes) {
  return bytes >= 1 && bytes < 1e18 ? format_bytes(static_cast<std::uint64_t>(bytes)) : "";
}

// The items of a list that `text` has something to say on.
template <typename Text>
std::string list_text(const Json& list, Text text) {
  constexpr std::size_t kMost = 64;
  std::string all;
  if (!list.is_array()) return all;
  for (std::size_t i = 0; i < std::min(list.size(), kMost); ++i) all = joined(all, text(list[i]));
  return all;
}

std::string memory_text(const Json& cpu) {
  double bytes = 0;
  const Json& nodes = field_in(cpu, "numa_nodes");
  if (!nodes.is_array()) return "";
  for (const Json& node : nodes) bytes += number_in(node, "memory_bytes");
  return bytes_text(bytes);
}

std::string gpu_text(const Json& device) {
  const std::string memory = bytes_text(number_in(device, "memory_bytes"));
  return text_in(device, "name") + (memory.empty() ? "" : " (" + memory + ")");
}

std::string found_text(const Json& item) {
  const Json& found = field_in(item, "found");
  return found.is_boolean() && found.get<bool>() ? text_in(item, "name") : "";
}

}  // namespace

std::vector<Fact> machine_facts(const Json& machine) {
  const Json& build = field_in(machine, "build");
  const Json& cpu = field_in(machine, "cpu");
  const Json& gpu = field_in(machine, "gpu");
  const Json& launch = field_in(machine, "launch");
  const std::string gpus = list_text(field_in(gpu, "devices"), gpu_text);
  std::vector<Fact> facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.push_back({name, value});
  };
  add("host", text_in(machine, "host"));
  add("lockstep", joined(text_in(build, "version"), text_in(build, "revision"), " "));
  add("libtorch", text_in(build, "libtorch"));
  add("compiler", text_in(build, "compiler"));
  add("cpu", text_in(cpu, "model"));
  add("cores", joined(joined(count_text(cpu, "cores", "core"), count_text(cpu, "packages", "package"), " on "),
                      joined("", count_text(cpu, "usable_cores", "usable core"))));
  add("memory", memory_text(cpu));
  add("instruction sets", list_text(field_in(cpu, "instruction_sets"), [](const Json& item) {
        return text_in({{"set", item}}, "set");
      }));
  add("gpus", gpus.empty() && field_in(gpu, "devices").is_array() ? "none" : gpus);
  add("gpu driver", text_in(gpu, "driver"));
  add("backends", list_text(field_in(machine, "backends"), found_text));
  add("started by", joined(text_in(launch, "source"), count_text(launch, "size", "rank")));
  return facts;
}

}  // namespace lockstep::report
