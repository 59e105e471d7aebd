#include <lockstep/base/openmp.h>

#include <link.h>

#include <array>
#include <atomic>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/log.h>

namespace lockstep {
namespace {

using Runtimes = std::map<std::string_view, std::string>;  // paths by kind

constexpr std::array<std::string_view, 3> kKinds = {"libgomp", "libiomp5", "libomp"};

int note_library(dl_phdr_info* info, std::size_t, void* data) {
  const std::string_view path = info->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  for (const std::string_view kind : kKinds) {
    // "libgomp.so.1", "libgomp-a34b3233.so.1"
    const bool same =
        file.starts_with(kind) && file.size() > kind.size() && (file[kind.size()] == '.' || file[kind.size()] == '-');
    if (same) static_cast<Runtimes*>(data)->try_emplace(kind, path);
  }
  return 0;
}

}  // namespace

std::vector<std::string> loaded_openmp_runtimes() {
  Runtimes runtimes;
  ::dl_iterate_phdr(note_library, &runtimes);
  std::vector<std::string> paths;
  for (const auto& [kind, path] : runtimes) paths.push_back(path);
  return paths;
}

void warn_of_several_openmp_runtimes() {
  static std::atomic<bool> warned = false;
  const std::vector<std::string> paths = loaded_openmp_runtimes();
  if (paths.size() < 2 || warned.exchange(true)) return;
  log::warning(
      "{} OpenMP runtimes are in this process, and each starts threads for all cores: {}; libtorch uses libgomp: "
      "link or preload the other code with it too, or set OMP_NUM_THREADS so that both fit",
      paths.size(), fmt::join(paths, " and "));
}

}  // namespace lockstep
