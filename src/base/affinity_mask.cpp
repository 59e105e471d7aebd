#include <lockstep/base/affinity_mask.h>

#include <algorithm>
#include <cerrno>

namespace lockstep {

AffinityMask::AffinityMask(std::span<const int> cpus) {
  if (cpus.empty()) return;
  const auto highest = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end()));
  sets_.resize(highest / CPU_SETSIZE + 1);
  for (const int cpu : cpus) {
    const auto number = static_cast<std::size_t>(cpu);
    CPU_SET(number % CPU_SETSIZE, &sets_[number / CPU_SETSIZE]);
  }
}

AffinityMask AffinityMask::current() {
  constexpr std::size_t kMostSets = 64;
  AffinityMask mask;
  do {
    mask.sets_.resize(mask.sets_.size() + 1);
    if (::sched_getaffinity(0, mask.sets_.size() * sizeof(cpu_set_t), mask.sets_.data()) == 0) return mask;
  } while (errno == EINVAL && mask.sets_.size() < kMostSets);  // the kernel has more cpus than that
  return {};
}

int AffinityMask::count() const {
  int cpus = 0;
  for (const cpu_set_t& set : sets_) cpus += CPU_COUNT(&set);
  return cpus;
}

int AffinityMask::apply() const noexcept {
  if (sets_.empty()) return 0;
  return ::sched_setaffinity(0, sets_.size() * sizeof(cpu_set_t), sets_.data()) == 0 ? 0 : errno;
}

}  // namespace lockstep
