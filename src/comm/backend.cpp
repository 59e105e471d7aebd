#include "backend.h"

#include <algorithm>
#include <array>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "hierarchy.h"
#include "plugin.h"

namespace lockstep::comm {
namespace {

struct Entry {
  const char* name;
  MadeBackend (*make)(const BackendRequest&);
};

MadeBackend make_nccl(const BackendRequest& request) {
  return make_from_plugin("cuda", request);
}

MadeBackend make_local_and_gloo(const BackendRequest& request) {
  return make_hierarchy("gloo", request);
}

MadeBackend make_local_and_mpi(const BackendRequest& request) {
  return make_hierarchy("mpi", request);
}

constexpr std::array kBackends = {Entry{"local", make_local},
                                  Entry{"gloo", make_gloo},
                                  Entry{"mpi", make_mpi},
                                  Entry{"local+gloo", make_local_and_gloo},
                                  Entry{"local+mpi", make_local_and_mpi},
                                  Entry{"nccl", make_nccl}};

std::string choose(const BackendRequest& request) {
  const std::vector<int> nodes = number_nodes(request.hosts);
  if (nodes.empty()) return "gloo";
  if (std::all_of(nodes.begin(), nodes.end(), [](int node) { return node == 0; })) return "local";
  return has_hierarchy(nodes) ? "local+gloo" : "gloo";
}

}  // namespace

MadeBackend make_backend(const std::string& asked, const BackendRequest& request) {
  const std::string name = asked != "auto" ? asked : choose(request);
  std::vector<std::string> names;
  for (const Entry& entry : kBackends) {
    if (name == entry.name) return entry.make(request);
    names.emplace_back(entry.name);
  }
  std::string list = "auto";
  for (const std::string& known : names) list += ", " + known;
  throw UsageError({.message = "there is no backend '" + name + "'" + did_you_mean(name, names),
                    .expected = list,
                    .next = "lockstep info tells which backends there are, and why others are missing"});
}

}  // namespace lockstep::comm
