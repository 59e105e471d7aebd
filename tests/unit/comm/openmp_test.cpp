// Two OpenMP runtimes in one process. libtorch brings GNU's; the stubs are libraries that only bear the names.
#include <dlfcn.h>

#include <gmock/gmock.h>

#include <lockstep/base/openmp.h>
#include <lockstep/comm/world.h>

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void load_stub(const std::string& name) {
  ASSERT_NE(::dlopen((std::string(LOCKSTEP_TEST_STUBS) + "/" + name).c_str(), RTLD_NOW), nullptr) << ::dlerror();
}

std::string said_by_a_new_world() {
  ::testing::internal::CaptureStderr();
  const World world({.backend = "local"});
  return ::testing::internal::GetCapturedStderr();
}

// One test, because a library that is loaded stays.
TEST(OpenMp, AnotherRuntimeBesideLibtorchsIsSaidOnce) {
  EXPECT_THAT(loaded_openmp_runtimes(), ElementsAre(HasSubstr("libgomp")));
  load_stub("libgomp-copy.so");  // a second copy is no second runtime
  EXPECT_THAT(loaded_openmp_runtimes(), ElementsAre(HasSubstr("libgomp")));
  EXPECT_THAT(said_by_a_new_world(), IsEmpty());

  load_stub("libiomp5.so");
  EXPECT_THAT(loaded_openmp_runtimes(), ElementsAre(HasSubstr("libgomp"), HasSubstr("stubs/libiomp5.so")));
  EXPECT_THAT(said_by_a_new_world(), AllOf(HasSubstr("2 OpenMP runtimes"), HasSubstr("torch/lib/libgomp.so.1"),
                                           HasSubstr("stubs/libiomp5.so"), HasSubstr("OMP_NUM_THREADS")));
  EXPECT_THAT(said_by_a_new_world(), IsEmpty());
}

}  // namespace
}  // namespace lockstep::test
