#include <lockstep/base/token.h>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <span>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>

namespace lockstep {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

// The token as it is written: wiped, because it is as secret as the token.
struct Text {
  std::array<char, 64> digits{};

  Text() = default;
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() { OPENSSL_cleanse(digits.data(), digits.size()); }
};

void fill_randomly(std::span<unsigned char> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error("cannot get random bytes from the kernel", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

ssize_t read_at(int fd, char* buffer, std::size_t size, std::size_t offset) {
  const ssize_t count = ::pread(fd, buffer, size, static_cast<off_t>(offset));
  return count < 0 && errno == ESPIPE ? ::read(fd, buffer, size) : count;
}

// Returns how many of the digits there were.
std::size_t read_digits(int fd, Text& text, const std::string& where) {
  std::size_t done = 0;
  while (done < text.digits.size()) {
    const ssize_t count = read_at(fd, text.digits.data() + done, text.digits.size() - done, done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw UsageError({.message = fmt::format("cannot read the job's token from {}: {}", where, std::strerror(errno)),
                        .next = "start the ranks with lockstep run, which passes the token on"});
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void require_private(const struct stat& info, const std::filesystem::path& path) {
  const std::string name = "'" + path.string() + "'";
  if (!S_ISREG(info.st_mode)) throw UsageError("the token file " + name + " is not a regular file");
  if (info.st_uid != ::geteuid()) {
    throw UsageError({.message = "the token file " + name + " belongs to another user",
                      .found = fmt::format("user {}", info.st_uid),
                      .expected = fmt::format("user {}", ::geteuid()),
                      .next = "make a token file of your own"});
  }
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw UsageError({.message = "others may access the token file " + name,
                      .found = fmt::format("mode {:04o}", info.st_mode & 07777U),
                      .expected = "mode 0600",
                      .next = fmt::format("chmod 600 {}, and make a new token: this one may be known", name)});
  }
}

}  // namespace

Token Token::generate() {
  Token token;
  fill_randomly(token.bytes_);
  return token;
}

std::optional<Token> Token::from_environment() {
  if (const auto fd = env::get_int("LOCKSTEP_TOKEN_FD", 0, std::numeric_limits<int>::max())) {
    Token token = read(static_cast<int>(*fd));
    if (::fcntl(static_cast<int>(*fd), F_SETFD, FD_CLOEXEC) != 0) {
      throw system_error("cannot keep the job's token from other programs", errno);
    }
    return token;
  }
  if (const auto path = env::get("LOCKSTEP_TOKEN_FILE")) return read_file(*path);
  return std::nullopt;
}

Token Token::read(int fd) {
  return read_from(fd, fmt::format("descriptor {}", fd));
}

Token Token::read_from(int fd, const std::string& where) {
  Text text;
  const std::size_t count = read_digits(fd, text, where);
  return decode({text.digits.data(), count}, where);
}

Token Token::decode(std::string_view digits, const std::string& where) {
  Token token;
  for (std::size_t i = 0; i < 2 * token.bytes_.size(); ++i) {
    const std::size_t digit = i < digits.size() ? kDigits.find(digits[i]) : std::string_view::npos;
    if (digit == std::string_view::npos) {
      throw UsageError(
          {.message = where + " holds no token of a job", .expected = "64 hexadecimal digits in lower case"});
    }
    token.bytes_[i / 2] = static_cast<unsigned char>(token.bytes_[i / 2] << 4 | digit);
  }
  return token;
}

Token Token::parse(std::string_view text) {
  return decode(text, "the text");
}

std::string Token::reveal() const {
  std::string digits;
  for (const unsigned char byte : bytes_) {
    digits += kDigits[byte >> 4U];
    digits += kDigits[byte & 0xFU];
  }
  return digits;
}

Token Token::read_file(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    throw UsageError(
        {.message = fmt::format("cannot read the token file '{}': {}", path.string(), std::strerror(errno)),
         .next = "check the path and its permissions"});
  }
  require_private(info, path);
  return read_from(fd.get(), "'" + path.string() + "'");
}

Token::~Token() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

void Token::write(int fd) const {
  Text text;
  for (std::size_t i = 0; i < text.digits.size(); ++i) {
    text.digits[i] = kDigits[bytes_[i / 2] >> (i % 2 == 0 ? 4U : 0U) & 0xFU];
  }
  for (std::string_view rest(text.digits.data(), text.digits.size()); !rest.empty();) {
    const ssize_t count = ::write(fd, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error("cannot pass on the job's token", errno);
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

UniqueFd Token::to_memfd() const {
  UniqueFd fd(::memfd_create("lockstep-token", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) throw system_error("cannot make a file in memory for the job's token", errno);
  write(fd.get());
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    throw system_error("cannot seal the job's token", errno);
  }
  return fd;
}

std::string Token::authenticate(std::string_view message) const {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned length = 0;
  if (HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(digest.data()), &length) == nullptr) {
    throw RuntimeError("the HMAC of OpenSSL failed");
  }
  digest.resize(length);
  return digest;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  fill_randomly({reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()});
  return bytes;
}

}  // namespace lockstep
