#pragma once
#include <string>

#include <lockstep/base/errors.h>

namespace lockstep::data {

// "MESSAGE: FOUND", for lists of what is bad.
inline std::string one_line(const ErrorParts& parts) {
  return parts.found.empty() ? parts.message : parts.message + ": " + parts.found;
}

}  // namespace lockstep::data
