// The feature levels of x86-64, shared by cpu.cpp and cpu_guard.cpp. Everything here is plain C with no library call:
// the guard uses it before any other code of the program has run, on CPUs that could not run that code.
#pragma once
#include <cstddef>

namespace lockstep::cpu {

struct Feature {
  const char* name;
  int level;  // the first level of x86-64 that has it
  bool here;
};

inline constexpr std::size_t kLevelFeatureCount = 15;
struct LevelFeatures {
  Feature features[kLevelFeatureCount];
};

inline LevelFeatures read_level_features() {
  __builtin_cpu_init();
  return {{
      {"sse3", 2, __builtin_cpu_supports("sse3") != 0},
      {"ssse3", 2, __builtin_cpu_supports("ssse3") != 0},
      {"sse4.1", 2, __builtin_cpu_supports("sse4.1") != 0},
      {"sse4.2", 2, __builtin_cpu_supports("sse4.2") != 0},
      {"popcnt", 2, __builtin_cpu_supports("popcnt") != 0},
      {"avx", 3, __builtin_cpu_supports("avx") != 0},
      {"avx2", 3, __builtin_cpu_supports("avx2") != 0},
      {"bmi", 3, __builtin_cpu_supports("bmi") != 0},
      {"bmi2", 3, __builtin_cpu_supports("bmi2") != 0},
      {"fma", 3, __builtin_cpu_supports("fma") != 0},
      {"avx512f", 4, __builtin_cpu_supports("avx512f") != 0},
      {"avx512bw", 4, __builtin_cpu_supports("avx512bw") != 0},
      {"avx512cd", 4, __builtin_cpu_supports("avx512cd") != 0},
      {"avx512dq", 4, __builtin_cpu_supports("avx512dq") != 0},
      {"avx512vl", 4, __builtin_cpu_supports("avx512vl") != 0},
  }};
}

// The level of a name such as "x86-64-v3"; "x86-64" is 1.
constexpr int parse_level(const char* name) {
  int last = 0;
  while (name[last] != '\0') ++last;
  return last >= 2 && name[last - 2] == 'v' ? name[last - 1] - '0' : 1;
}

}  // namespace lockstep::cpu
