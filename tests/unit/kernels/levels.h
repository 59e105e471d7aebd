// The instruction sets that arithmetic is compiled for, each a case of a test.
#pragma once
#include <ostream>

#include <gtest/gtest.h>

#include <lockstep/base/cpu.h>

namespace lockstep::kernels {

template <typename Kernels>
struct Level {
  const char* name;
  const Kernels* kernels;
  cpu::KernelLevel needed;
};

template <typename Kernels>
void PrintTo(const Level<Kernels>& level, std::ostream* stream) {
  *stream << level.name;
}

// Skips what this CPU cannot run.
template <typename Kernels>
class EveryLevel : public testing::TestWithParam<Level<Kernels>> {
 protected:
  void SetUp() override {
    if (cpu::kernel_level() < this->GetParam().needed) GTEST_SKIP() << "this CPU has no " << this->GetParam().name;
  }
  const Kernels& kernels() const { return *this->GetParam().kernels; }
};

}  // namespace lockstep::kernels
