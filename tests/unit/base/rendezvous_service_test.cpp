#include "base/rendezvous_service.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lockstep::rendezvous {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> one_request_of_each_kind() {
  const Member member{.id = {1, 4}, .host = "host", .pid = 7};
  std::vector<std::string> frames = {
      Writer(Operation::kSet).bytes("key").bytes("12").take(),
      Writer(Operation::kGet).bytes("key").timeout(1s).take(),
      Writer(Operation::kAdd).bytes("key").number(5).take(),
      Writer(Operation::kCompareSet).bytes("key").bytes("17").bytes("18").take(),
      Writer(Operation::kCheck).count(2).bytes("key").bytes("other").take(),
      Writer(Operation::kWait).count(2).bytes("key").bytes("other").timeout(1s).take(),
      Writer(Operation::kDeleteKey).bytes("key").take(),
      Writer(Operation::kNumKeys).take(),
      Writer(Operation::kJoin).member(member).take(),
      Writer(Operation::kLeave).take(),
      Writer(Operation::kMembers).take(),
      Writer(Operation::kWaitForWorld).timeout(1s).take(),
      Writer(Operation::kWaitForLoss).count(0).timeout(1s).take(),
  };
  for (std::string& frame : frames) frame.erase(0, kHeaderSize);
  return frames;
}

// Lets a connection make a request and live through its wait, if any. Returns whether the request was well-formed, and
// then there was exactly one reply to it.
bool serve(Service& service, ConnectionId from, const std::string& request) {
  try {
    if (service.handle(from, request)) service.expire(from);
  } catch (const Malformed&) {
    EXPECT_TRUE(service.take_replies().empty());
    return false;
  }
  const auto replies = service.take_replies();
  EXPECT_EQ(replies.size(), 1U);
  for (const auto& [to, frame] : replies) {
    EXPECT_EQ(to, from);
    EXPECT_EQ(body_size(frame.substr(0, kHeaderSize)) + kHeaderSize, frame.size());
  }
  return true;
}

TEST(Service, AnswersEveryKindOfRequest) {
  Service service({});
  for (const std::string& request : one_request_of_each_kind()) EXPECT_TRUE(serve(service, 1, request));
}

TEST(Service, RefusesEveryPartOfARequestAndEveryExtension) {
  Service service({});
  for (const std::string& request : one_request_of_each_kind()) {
    for (std::size_t size = 0; size < request.size(); ++size) EXPECT_FALSE(serve(service, 1, request.substr(0, size)));
    EXPECT_FALSE(serve(service, 1, request + "x"));
  }
  EXPECT_TRUE(serve(service, 1, one_request_of_each_kind()[7]));
}

TEST(Service, SurvivesRequestsWithRandomChanges) {
  Service service({.keys = 100, .bytes = 10'000});
  const auto requests = one_request_of_each_kind();
  std::mt19937 random(1);
  int understood = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string request = requests[random() % requests.size()];
    for (auto changes = random() % 4; changes > 0; --changes) {
      request[random() % request.size()] = static_cast<char>(random());
    }
    const ConnectionId from = random() % 8;
    understood += serve(service, from, request) ? 1 : 0;
    if (i % 100 == 0) service.forget(from);
  }
  EXPECT_GT(understood, 10'000);
}

TEST(Service, SurvivesRandomRequests) {
  Service service({});
  std::mt19937 random(1);
  for (int i = 0; i < 50'000; ++i) {
    std::string request(1 + random() % 64, '\0');
    for (char& byte : request) byte = static_cast<char>(random());
    request[0] = static_cast<char>(random() % 16);
    serve(service, 1, request);
  }
}

}  // namespace
}  // namespace lockstep::rendezvous
