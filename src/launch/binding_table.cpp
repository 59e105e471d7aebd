#include <fmt/format.h>

#include <lockstep/base/cpu_list.h>
#include <lockstep/launch/binding.h>

namespace lockstep::launch {
namespace {

Table::Cell list_cell(const std::vector<int>& numbers) {
  if (numbers.empty()) return std::monostate{};
  return format_cpu_list(numbers);
}

}  // namespace

Table binding_table(const NodeBinding& binding, int first_rank) {
  Table table({{.key = "rank"},
               {.key = "cpus"},
               {.key = "threads"},
               {.key = "comm_cpus", .title = "comm cpus"},
               {.key = "numa", .title = "NUMA"},
               {.key = "gpu", .title = "GPU"}});
  for (std::int64_t rank = first_rank; const RankBinding& place : binding.ranks) {
    table.add_row({rank++, place.cpus.empty() ? Table::Cell("any") : list_cell(place.cpus), std::int64_t{place.threads},
                   list_cell(place.comm_cpus), list_cell(place.numa_nodes),
                   place.gpu ? Table::Cell(std::int64_t{*place.gpu}) : Table::Cell()});
  }
  return table;
}

}  // namespace lockstep::launch
