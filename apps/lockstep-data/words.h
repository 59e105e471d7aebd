#pragma once
#include <cstdint>
#include <string>

#include <lockstep/base/text.h>

namespace lockstep::app {

// "1 class", "10 classes"
inline std::string format_classes(std::int64_t count) {
  return count == 1 ? "1 class" : format_count(count) + " classes";
}

}  // namespace lockstep::app
