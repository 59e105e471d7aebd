// What the CPU can do, and what of it is used.
#pragma once
#include <string>
#include <vector>

namespace lockstep::cpu {

// "AMD EPYC 9654", as /proc/cpuinfo has it.
std::string model_name();

// The instruction sets that matter for training and that this CPU and its operating system offer, oldest first.
std::vector<std::string> instruction_sets();

// The x86-64 level that every function of this build may use ("x86-64-v2"), and the highest one that this CPU has.
std::string build_base();
std::string highest_level();

// For which of the instruction sets that own kernels are compiled for this CPU has all that the compiler may use; see
// LOCKSTEP_KERNEL_OPTIONS in src/CMakeLists.txt. LOCKSTEP_KERNEL_LEVEL=base|avx2 takes less than there is;
// UsageError for another word.
enum class KernelLevel { kBase, kAvx2, kAvx512 };
KernelLevel kernel_level();
std::string to_text(KernelLevel level);  // "AVX512", "AVX2", "base"

// The set of kernels that libtorch takes on this CPU: "AVX512", "AVX2" or "DEFAULT"; ATEN_CPU_CAPABILITY overrides it.
std::string torch_capability();

}  // namespace lockstep::cpu
