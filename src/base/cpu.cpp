#include <lockstep/base/cpu.h>

#include <cpuid.h>
#include <algorithm>
#include <fstream>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "cpu_levels.h"

namespace lockstep::cpu {
namespace {

bool has_level(int level) {
  const auto levels = read_level_features();
  return std::all_of(std::begin(levels.features), std::end(levels.features),
                     [level](const Feature& feature) { return feature.level > level || feature.here; });
}

// Features newer than the compilers' own tables: leaf 7, sub-leaf 0 has AMX in EDX, sub-leaf 1 has AVX512-BF16 in EAX.
bool has_bit(unsigned subleaf, bool in_edx, unsigned bit) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, subleaf, &eax, &ebx, &ecx, &edx) == 0) return false;
  return ((in_edx ? edx : eax) >> bit & 1U) != 0;
}

// The most that LOCKSTEP_KERNEL_LEVEL allows.
KernelLevel wished_level() {
  const std::string wish = env::get("LOCKSTEP_KERNEL_LEVEL").value_or("avx512");
  const std::vector<std::string> words = {"base", "avx2", "avx512"};  // in the order of the enumeration
  const auto found = std::find(words.begin(), words.end(), wish);
  if (found != words.end()) return static_cast<KernelLevel>(found - words.begin());
  throw UsageError({.message = "LOCKSTEP_KERNEL_LEVEL is not understood" + did_you_mean(wish, words),
                    .found = wish,
                    .expected = "base, avx2 or avx512"});
}

}  // namespace

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> sets;
  for (const Feature& feature : read_level_features().features) {
    if (feature.here) sets.emplace_back(feature.name);
  }
  if (__builtin_cpu_supports("avx512f") != 0) {
    if (__builtin_cpu_supports("avx512vnni") != 0) sets.emplace_back("avx512vnni");
    if (has_bit(1, false, 5)) sets.emplace_back("avx512bf16");
    if (has_bit(0, true, 23)) sets.emplace_back("avx512fp16");
  }
  if (has_bit(0, true, 24)) sets.emplace_back("amx-tile");
  if (has_bit(0, true, 22)) sets.emplace_back("amx-bf16");
  if (has_bit(0, true, 25)) sets.emplace_back("amx-int8");
  return sets;
}

std::string build_base() {
  return LOCKSTEP_CPU_BASE;
}

std::string highest_level() {
  for (int level = 4; level > 1; --level) {
    if (has_level(level)) return "x86-64-v" + std::to_string(level);
  }
  return "x86-64";
}

KernelLevel kernel_level() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  __builtin_cpu_init();
  KernelLevel highest = KernelLevel::kBase;
  if (f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    highest = avx512 ? KernelLevel::kAvx512 : KernelLevel::kAvx2;
  }
  return std::min(highest, wished_level());
}

std::string to_text(KernelLevel level) {
  switch (level) {
    case KernelLevel::kAvx512:
      return "AVX512";
    case KernelLevel::kAvx2:
      return "AVX2";
    case KernelLevel::kBase:
      return "base";
  }
  return "unknown";
}

std::string torch_capability() {
  if (const auto wish = env::get("ATEN_CPU_CAPABILITY")) {
    if (*wish == "avx512") return "AVX512";
    if (*wish == "avx2") return "AVX2";
    if (*wish == "default") return "DEFAULT";
  }
  if (has_level(4)) return "AVX512";
  return has_level(3) ? "AVX2" : "DEFAULT";
}

}  // namespace lockstep::cpu
