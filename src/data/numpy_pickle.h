// A dictionary of lists and of numpy's arrays of bytes, in a pickle that is read without running it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/base/errors.h>
#include <lockstep/base/pickle.h>

namespace lockstep::data {

class NumpyPickle {
 public:
  // An array of unsigned bytes.
  struct Array {
    std::vector<std::int64_t> sizes;
    std::span<const std::byte> bytes;
  };

  // `content` must live as long as this. Throws UsageError as Pickle does, and when the one object is no dictionary.
  NumpyPickle(std::span<const std::byte> content, std::string name);

  // What stands under a key. Throws UsageError when nothing does, or another kind of value.
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<std::string> strings(std::string_view key) const;
  Array array(std::string_view key) const;

 private:
  const Pickle::Value& find(std::string_view key) const;
  const Pickle::Value& find_list(std::string_view key, const char* kind_in_words) const;
  UsageError wrong_kind(std::string_view key, const char* expected) const;

  Pickle pickle_;
};

}  // namespace lockstep::data
