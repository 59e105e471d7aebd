#include <lockstep/base/init_method.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

namespace lockstep::test {
namespace {

TEST(InitMethod, OfPyTorchIsUnderstood) {
  EXPECT_EQ(parse_init_method("").kind, InitMethod::Kind::kAutomatic);
  EXPECT_EQ(parse_init_method("env://").kind, InitMethod::Kind::kEnvironment);
  const InitMethod tcp = parse_init_method("tcp://10.1.1.20:23456?rank=1&world_size=4");
  EXPECT_EQ(tcp.kind, InitMethod::Kind::kTcp);
  EXPECT_EQ(tcp.host, "10.1.1.20");
  EXPECT_EQ(tcp.port, 23456);
  ASSERT_TRUE(tcp.rank);
  EXPECT_EQ(tcp.rank->rank, 1);
  EXPECT_EQ(tcp.rank->size, 4);
  EXPECT_EQ(parse_init_method("tcp://[fe80::1]:80").host, "fe80::1");
  EXPECT_EQ(parse_init_method("file:///mnt/nfs/meet").path, "/mnt/nfs/meet");
}

TEST(InitMethod, ThatMakesNoSenseIsRefused) {
  for (const char* text : {"tcp://host", "tcp://:1", "tcp://host:0", "tcp://host:65536", "tcp://fe80::1:80", "file://x",
                           "file:///", "udp://host:1", "env://x", "tcp://h:1?rank=1", "tcp://h:1?rank=x&world_size=2",
                           "tcp://h:1?speed=9", "host:1"}) {
    EXPECT_THROW(parse_init_method(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace lockstep::test
