#include "backend.h"

#include <algorithm>
#include <array>

#include <lockstep/base/errors.h>
#include <lockstep/base/plugin.h>
#include <lockstep/base/text.h>

#include "hierarchy.h"

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

MadeBackend make_ccl(const BackendRequest& request) {
  return make_from_plugin("ccl", request);
}

constexpr std::array kBackends = {Entry{"local", make_local},
                                  Entry{"gloo", make_gloo},
                                  Entry{"mpi", make_mpi},
                                  Entry{"ccl", make_ccl},
                                  Entry{"local+gloo", make_local_and_gloo},
                                  Entry{"local+mpi", make_local_and_mpi},
                                  Entry{"nccl", make_nccl}};

std::string choose(const BackendRequest& request) {
  if (request.one_node()) return "local";
  return has_hierarchy(number_nodes(request.hosts)) ? "local+gloo" : "gloo";
}

}  // namespace

bool BackendRequest::one_node() const {
  return !hosts.empty() && std::all_of(hosts.begin(), hosts.end(), [&](const auto& host) { return host == hosts[0]; });
}

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

MadeBackend make_from_plugin(const std::string& plugin, const BackendRequest& request) {
  using MakeBackend = void (*)(const BackendRequest&, MadeBackend&);
  MadeBackend made;
  reinterpret_cast<MakeBackend>(plugin_symbol(plugin, "lockstep_make_backend"))(request, made);
  return made;
}

}  // namespace lockstep::comm
