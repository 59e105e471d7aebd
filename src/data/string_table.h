#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

// Texts in the form that a packed file has them: where each begins and the last one ends, then all of them.
class StringTable {
 public:
  void add(std::string_view text) {
    text_ += text;
    positions_.push_back(text_.size());
  }

  const std::vector<std::uint64_t>& positions() const { return positions_; }
  const std::string& text() const { return text_; }

 private:
  std::vector<std::uint64_t> positions_ = {0};
  std::string text_;
};

}  // namespace lockstep::data
