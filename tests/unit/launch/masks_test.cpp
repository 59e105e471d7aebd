// The word of --bind, and masks held against the machine.
#include <lockstep/base/errors.h>

#include "machines.h"
#include "throws_with.h"

namespace lockstep::launch {
namespace {

using test::ThrowsWith;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

NodeBinding bound(const std::string& word, int ranks = 2, BindingOptions options = {}) {
  options.bind = parse_bind(word);
  return plan_binding(machine(kHaswell), ranks, options);
}

TEST(Bind, KnowsItsWordsAndTheNearestOfThem) {
  EXPECT_EQ(parse_bind("socket").kind, BindKind::kSocket);
  EXPECT_EQ(parse_bind("auto").kind, BindKind::kAuto);
  EXPECT_THAT([] { parse_bind("sokcet"); }, ThrowsWith<UsageError>("did you mean 'socket'?"));
  EXPECT_THAT([] { parse_bind(""); }, ThrowsWith<UsageError>("--bind does not know ''"));
}

TEST(Masks, AreReadAsIntelsAre) {
  EXPECT_THAT(parse_bind("masks=0xff0,0xff00000").masks,
              ElementsAre(ElementsAre(4, 5, 6, 7, 8, 9, 10, 11), ElementsAre(20, 21, 22, 23, 24, 25, 26, 27)));
  EXPECT_THAT(parse_bind("masks=[5,A0]").masks, ElementsAre(ElementsAre(0, 2), ElementsAre(5, 7)));
  EXPECT_THAT(parse_bind("masks=0x1" + std::string(32, '0')).masks, ElementsAre(ElementsAre(128)));
}

TEST(Masks, ThatAreNoneAreRefused) {
  for (const char* wrong : {"masks=", "masks=0x", "masks=0xfg", "masks=0x1,,0x2", "masks=-1", "masks=[0x1"}) {
    EXPECT_THAT([&] { parse_bind(wrong); }, ThrowsWith<UsageError>("hexadecimal masks")) << wrong;
  }
  EXPECT_THROW(parse_bind("masks=" + std::string(1 << 20, 'f')), UsageError);
}

TEST(Masks, AreObeyed) {
  const NodeBinding binding = bound("masks=0xff0,0xff00000");
  EXPECT_THAT(cpus(binding), ElementsAre("4-11", "20-27"));
  EXPECT_THAT(threads(binding), ElementsAre(8, 8));
  EXPECT_THAT(binding.ranks[1].numa_nodes, ElementsAre(1));
  EXPECT_THAT(binding.warnings, IsEmpty());
}

TEST(Masks, CountCoresNotHardwareThreads) {
  const NodeBinding binding = bound("masks=0xf0000000f", 1);  // four cores, both threads of each
  EXPECT_THAT(cpus(binding), ElementsAre("0-3,32-35"));
  EXPECT_THAT(threads(binding), ElementsAre(4));
  EXPECT_THAT(threads(bound("masks=0xf0000000f", 1, {.threads_per_core = 2})), ElementsAre(8));
}

TEST(Masks, GiveTheirLastCoresToCommunication) {
  const NodeBinding binding = bound("masks=0xf0000000f", 1, {.cores_for_comm = 1});
  EXPECT_THAT(cpus(binding), ElementsAre("0-2,32-34"));
  EXPECT_THAT(comm_cpus(binding), ElementsAre("3"));
  EXPECT_THAT([] { bound("masks=0xf,0xf0", 2, {.cores_for_comm = 4}); },
              ThrowsWith<UsageError>("1 rank x (1 + 4 cores) = 5 cores, and mask 0 has 4"));
}

TEST(Masks, MustHaveRoomForTheThreads) {
  EXPECT_THAT([] { bound("masks=0xf,0xf0", 2, {.threads = 5}); },
              ThrowsWith<UsageError>("1 rank x 5 cores = 5 cores, and mask 0 has 4"));
}

TEST(Masks, ThatMakeNoSenseAreRefusedWithWhatWasFound) {
  EXPECT_THAT([] { bound("masks=0x1"); }, ThrowsWith<UsageError>("found: 1 mask\n  expected: 2"));
  EXPECT_THAT([] { bound("masks=0x1,0x0"); }, ThrowsWith<UsageError>("mask 1 is empty"));
  EXPECT_THAT([] { bound("masks=0x1,0x30000000000000000"); },
              ThrowsWith<UsageError>("found: cpus 64-65\n  expected: some of 0-63"));
}

TEST(Masks, ThatOverlapAreAllowedWithAWarning) {
  EXPECT_THAT(bound("masks=0xff,0xf0").warnings, ElementsAre("--bind: ranks 0 and 1 share cpus 4-7"));
}

}  // namespace
}  // namespace lockstep::launch
