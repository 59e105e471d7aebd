#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <lockstep/kernels/cpu_memory.h>

namespace lockstep::test {
namespace {

using kernels::cpu_memory_statistics;

class KeptMemory : public ::testing::Test {
 protected:
  KeptMemory() {
    kernels::keep_cpu_memory();
    kernels::release_cached_memory();
  }
};

constexpr std::int64_t kLarge = 1 << 20, kSmall = 1 << 10;

at::Tensor make(std::int64_t bytes) {
  return at::empty({bytes}, at::kByte);
}

TEST_F(KeptMemory, IsAlignedForEverySize) {
  for (const std::int64_t bytes : {std::int64_t{1}, kSmall, std::int64_t{65535}, std::int64_t{65536}, kLarge + 1}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(make(bytes).data_ptr()) % 64, 0U) << bytes;
  }
}

TEST_F(KeptMemory, OfALargeTensorGoesToTheNext) {
  const auto before = cpu_memory_statistics();
  at::Tensor tensor = make(kLarge);
  void* const data = tensor.data_ptr();
  EXPECT_EQ(cpu_memory_statistics().in_use - before.in_use, kLarge);
  tensor.reset();
  EXPECT_EQ(cpu_memory_statistics().in_use, before.in_use);
  EXPECT_GE(cpu_memory_statistics().kept, kLarge);
  tensor = make(kLarge);
  EXPECT_EQ(tensor.data_ptr(), data);
  EXPECT_EQ(cpu_memory_statistics().hits - before.hits, 1);
  EXPECT_EQ(cpu_memory_statistics().misses - before.misses, 1);
}

TEST_F(KeptMemory, LeavesSmallTensorsToMalloc) {
  const auto before = cpu_memory_statistics();
  const at::Tensor tensor = make(kSmall);
  EXPECT_EQ(cpu_memory_statistics().in_use, before.in_use);
  EXPECT_EQ(cpu_memory_statistics().misses, before.misses);
}

TEST_F(KeptMemory, OfNothingIsNothing) {
  EXPECT_EQ(make(0).data_ptr(), nullptr);
  EXPECT_EQ(c10::GetCPUAllocator()->raw_allocate(0), nullptr);
}

TEST_F(KeptMemory, IsFreedByAnotherThread) {
  const auto before = cpu_memory_statistics().in_use;
  at::Tensor tensor = make(kLarge);
  std::thread([given = std::move(tensor)]() mutable { given.reset(); }).join();
  EXPECT_EQ(cpu_memory_statistics().in_use, before);
}

TEST_F(KeptMemory, IsTakenAndGivenBackWithoutADataPtr) {
  c10::Allocator& allocator = *c10::GetCPUAllocator();
  for (const std::int64_t bytes : {kSmall, kLarge}) {
    void* data = allocator.raw_allocate(static_cast<std::size_t>(bytes));
    std::memset(data, 7, static_cast<std::size_t>(bytes));
    const c10::DataPtr copy = allocator.clone(data, static_cast<std::size_t>(bytes));
    EXPECT_EQ(std::memcmp(copy.get(), data, static_cast<std::size_t>(bytes)), 0);
    EXPECT_TRUE(allocator.is_simple_data_ptr(copy));
    allocator.raw_deallocate(data);
  }
}

TEST_F(KeptMemory, GrowsWithATensorThatIsResized) {
  at::Tensor tensor = at::full({kSmall}, 5, at::kByte);
  tensor.resize_({kLarge});
  EXPECT_EQ(tensor[kSmall - 1].item<int>(), 5);
}

TEST_F(KeptMemory, IsReleasedWhereATensorCannotBeMade) {
  make(kLarge);
  EXPECT_GE(cpu_memory_statistics().kept, kLarge);
  EXPECT_THROW(make(std::int64_t{1} << 60), c10::Error);
  EXPECT_EQ(cpu_memory_statistics().kept, 0);
}

TEST_F(KeptMemory, IsThereInAChildThatWasForked) {
  std::atomic<bool> done = false;
  std::thread busy([&] {
    while (!done) make(kLarge);
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(make(kLarge).data_ptr() != nullptr ? 0 : 1);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  done = true;
  busy.join();
}

}  // namespace
}  // namespace lockstep::test
