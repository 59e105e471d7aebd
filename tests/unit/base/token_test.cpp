#include <lockstep/base/token.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <concepts>
#include <cstdlib>
#include <ostream>
#include <string>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "temporary_folder.h"

namespace lockstep {
namespace {

using test::TemporaryFolder;
using ::testing::HasSubstr;

template <typename T>
concept Printable = requires(std::ostream& stream, const T& value) {
  stream << value;
};
static_assert(!Printable<Token>);

bool are_equal(const Token& a, const Token& b) {
  return a.authenticate("x") == b.authenticate("x");
}

std::filesystem::path write_private(const TemporaryFolder& folder, const std::string& content) {
  auto path = folder.write("token", content);
  ::chmod(path.c_str(), 0600);
  return path;
}

// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Token, IsNewEachTime) {
  EXPECT_FALSE(are_equal(Token::generate(), Token::generate()));
}

TEST(Token, AuthenticatesWithHmacSha256) {
  const TemporaryFolder folder;
  // RFC 4231, test case 1. Its key has 20 bytes; an HMAC pads keys with zeros.
  std::string digits(64, '0');
  for (std::size_t i = 1; i < 40; i += 2) digits[i] = 'b';
  const std::string digest = Token::read_file(write_private(folder, digits)).authenticate("Hi There");
  ASSERT_EQ(digest.size(), 32U);
  EXPECT_EQ(digest.substr(0, 8), "\xb0\x34\x4c\x61\xd8\xdb\x38\x53");
}

TEST(Token, IsReadFromAMemfdByManyAndNotMovedByReading) {
  const Token token = Token::generate();
  const UniqueFd fd = token.to_memfd();
  EXPECT_TRUE(are_equal(Token::read(fd.get()), token));
  EXPECT_TRUE(are_equal(Token::read(fd.get()), token));
}

TEST(Token, InAMemfdCannotBeChangedAndIsNotInherited) {
  const UniqueFd fd = Token::generate().to_memfd();
  EXPECT_EQ(::pwrite(fd.get(), "0", 1, 0), -1);
  EXPECT_EQ(::ftruncate(fd.get(), 0), -1);
  EXPECT_EQ(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Token, IsReadFromAPipe) {
  const Token token = Token::generate();
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  token.write(writer.get());
  EXPECT_TRUE(are_equal(Token::read(reader.get()), token));
}

TEST(Token, IsReadFromAPrivateFile) {
  const TemporaryFolder folder;
  const Token token = Token::read_file(write_private(folder, std::string(64, '7') + "\n"));
  EXPECT_TRUE(are_equal(token, Token::read_file(folder.path() / "token")));
}

TEST(Token, IsRefusedFromAFileThatOthersMayAccess) {
  const TemporaryFolder folder;
  const auto path = write_private(folder, std::string(64, '7'));
  for (const mode_t mode : {0640, 0604, 0620, 0601}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_THAT([&] { Token::read_file(path); },
                testing::Throws<UsageError>(testing::Property(&UsageError::what, HasSubstr("chmod 600"))));
  }
}

TEST(Token, IsRefusedFromAnotherUsersFile) {
  const TemporaryFolder folder;
  const auto path = write_private(folder, std::string(64, '7'));
  if (::chown(path.c_str(), ::geteuid() + 1, static_cast<gid_t>(-1)) != 0) GTEST_SKIP() << "needs the right to chown";
  EXPECT_THAT([&] { Token::read_file(path); },
              testing::Throws<UsageError>(testing::Property(&UsageError::what, HasSubstr("another user"))));
}

TEST(Token, IsRefusedWhenThereIsNone) {
  const TemporaryFolder folder;
  EXPECT_THROW(Token::read_file(folder.path() / "missing"), UsageError);
  EXPECT_THROW(Token::read_file(folder.path()), UsageError);
  for (const std::string& content : {std::string(), std::string(63, '7'), std::string(63, '7') + "g"}) {
    EXPECT_THAT([&] { Token::read_file(write_private(folder, content)); },
                testing::Throws<UsageError>(testing::Property(&UsageError::what, HasSubstr("/token' holds no token"))));
  }
  EXPECT_THROW(Token::read(-1), UsageError);
}

TEST(Token, ErrorsDoNotShowWhatWasRead) {
  const TemporaryFolder folder;
  const std::string almost = std::string(63, '7') + "g";
  EXPECT_THAT([&] { Token::read_file(write_private(folder, almost)); },
              testing::Throws<UsageError>(testing::Property(&UsageError::what, testing::Not(HasSubstr("777")))));
}

TEST(TokenFromEnvironment, IsNothingWithoutALauncher) {
  EXPECT_FALSE(Token::from_environment());
}

TEST(TokenFromEnvironment, ComesFromTheDescriptorAndIsPassedOnNoFurther) {
  const Token token = Token::generate();
  const UniqueFd inherited(::fcntl(token.to_memfd().get(), F_DUPFD, 0));
  const Variable variable("LOCKSTEP_TOKEN_FD", std::to_string(inherited.get()));
  EXPECT_TRUE(are_equal(Token::from_environment().value(), token));
  EXPECT_EQ(::fcntl(inherited.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_TRUE(are_equal(Token::from_environment().value(), token));
}

TEST(TokenFromEnvironment, ComesFromTheFile) {
  const TemporaryFolder folder;
  const auto path = write_private(folder, std::string(64, '7'));
  const Variable variable("LOCKSTEP_TOKEN_FILE", path.string());
  EXPECT_TRUE(are_equal(Token::from_environment().value(), Token::read_file(path)));
}

TEST(TokenFromEnvironment, RefusesADescriptorThatIsNotOpen) {
  const Variable variable("LOCKSTEP_TOKEN_FD", "19999");
  EXPECT_THROW(Token::from_environment(), UsageError);
}

}  // namespace
}  // namespace lockstep
