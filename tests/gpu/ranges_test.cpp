// NVTX ranges as a profiler hears of them.
#include <dlfcn.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/gpu/ranges.h>

namespace lockstep::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::StartsWith;

const at::Device kGpu(at::kCUDA, 0);

class HeardRanges : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string listener =
        (std::filesystem::read_symlink("/proc/self/exe").parent_path() / LOCKSTEP_TEST_LISTENER);
    ::setenv("NVTX_INJECTION64_PATH", listener.c_str(), 1);
    void* library = ::dlopen(listener.c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr) << ::dlerror();
    take_ = reinterpret_cast<void (*)(std::vector<std::string>&)>(::dlsym(library, "lockstep_test_take_ranges"));
    ASSERT_NE(take_, nullptr);
  }

  void SetUp() override { take(); }

  static std::vector<std::string> take() {
    std::vector<std::string> taken;
    take_(taken);
    return taken;
  }

 private:
  static inline void (*take_)(std::vector<std::string>&) = nullptr;
};

TEST_F(HeardRanges, LieOneInsideTheOther) {
  const gpu::Ranges ranges({.detail = gpu::RangeDetail::kSteps, .synchronize = true, .device = kGpu});
  {
    const auto iteration = ranges.range("iteration");
    const auto data = ranges.range("data");
  }
  EXPECT_THAT(take(), ElementsAre("push iteration", "push data", "pop", "pop"));
}

TEST_F(HeardRanges, AreNoneWhenSwitchedOff) {
  const gpu::Ranges ranges;
  { const auto iteration = ranges.range("iteration"); }
  EXPECT_THAT(take(), ElementsAre());
}

TEST_F(HeardRanges, HaveEveryOperatorOnDemand) {
  const auto a = torch::ones({4, 4}, at::TensorOptions(kGpu).requires_grad(true));
  {
    const gpu::Ranges ranges({.detail = gpu::RangeDetail::kOperators, .device = kGpu});
    a.mm(a).sum().backward();
  }
  const auto heard = take();
  EXPECT_THAT(heard, Contains(StartsWith("push aten::mm")));
  EXPECT_THAT(heard, Contains(StartsWith("push MmBackward0")));
  a.mm(a);
  EXPECT_THAT(take(), ElementsAre()) << "after the end of Ranges";
}

TEST_F(HeardRanges, NameTheProfiledPartSoThatNsysCanWaitForIt) {
  { const gpu::ProfiledPart part(kGpu); }
  EXPECT_THAT(take(), ElementsAre("push registered PROFILE", "pop"));
}

}  // namespace
}  // namespace lockstep::test
