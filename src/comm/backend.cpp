#include "backend.h"

#include <array>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

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

MadeBackend make_ccl(const BackendRequest& request) {
  return make_from_plugin("ccl", request);
}

constexpr std::array kBackends = {Entry{"local", make_local}, Entry{"gloo", make_gloo}, Entry{"ccl", make_ccl},
                                  Entry{"nccl", make_nccl}};

}  // namespace

MadeBackend make_backend(const std::string& asked, const BackendRequest& request) {
  const std::string name = asked != "auto" ? asked : request.one_node ? "local" : "gloo";
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
