#include "forwarded_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep::launch {
namespace {

constexpr std::array<std::string_view, 15> kPrefixes = {"OMP_",  "MKL_",   "KMP_",      "GOMP_",  "CCL_",
                                                        "FI_",   "NCCL_",  "GLOO_",     "TORCH_", "PYTORCH_",
                                                        "CUDA_", "PYTHON", "LOCKSTEP_", "ATEN_",  "MALLOC_"};
constexpr std::array<std::string_view, 2> kNames = {"PATH", "LD_LIBRARY_PATH"};
constexpr std::array<std::string_view, 6> kNever = {"CUDA_VISIBLE_DEVICES", "LOCKSTEP_TOKEN_FD",
                                                    "LOCKSTEP_TOKEN_FILE",  "LOCKSTEP_RANK_PAGE_FD",
                                                    "LOCKSTEP_RENDEZVOUS",  "LOCKSTEP_INTERFACE"};

template <std::size_t Size>
bool contains(const std::array<std::string_view, Size>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

Variables forwarded_environment() {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    const bool tunes =
        std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](auto prefix) { return name.starts_with(prefix); });
    if ((tunes || contains(kNames, name)) && !contains(kNever, name)) {
      variables.emplace(name, text.substr(equals + 1));
    }
  }
  return variables;
}

}  // namespace lockstep::launch
