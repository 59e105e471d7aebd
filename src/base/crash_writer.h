#pragma once
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockstep {

// JSON written with what is allowed inside a signal handler: no allocation, no lock. Strings are written as they are,
// so they must hold nothing that JSON escapes; values come in the order of the calls, with their commas.
class CrashWriter {
 public:
  explicit CrashWriter(int fd) : fd_(fd) {}
  void text(const char* text) { put(text, std::strlen(text)); }
  void quoted(const char* value) {
    text("\"");
    text(value);
    text("\"");
  }
  template <typename Number>
  void number(Number value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    put(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  void hexadecimal(std::uintptr_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    put(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }
  template <typename Number>
  void field(const char* name, Number value) {
    key(name);
    number(value);
  }
  void field(const char* name, const char* value) {
    key(name);
    quoted(value);
  }
  void open(const char* bracket) {
    text(bracket);
    first_ = true;
  }
  void next() {
    if (!first_) text(",");
    first_ = false;
  }
  void key(const char* name) {
    next();
    quoted(name);
    text(":");
  }

 private:
  void put(const char* data, std::size_t size) {
    while (size > 0) {
      const ssize_t count = ::write(fd_, data, size);
      if (count <= 0) return;
      data += count;
      size -= static_cast<std::size_t>(count);
    }
  }
  int fd_;
  bool first_ = true;
};

}  // namespace lockstep
