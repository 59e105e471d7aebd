// EXPECT_THAT([] { ... }, ThrowsWith<UsageError>("what it says"));
#pragma once
#include <gmock/gmock.h>

namespace lockstep::test {

template <typename Error>
auto ThrowsWith(const std::string& part) {
  return ::testing::Throws<Error>(::testing::Property(&std::exception::what, ::testing::HasSubstr(part)));
}

}  // namespace lockstep::test
