#pragma once
#include <exception>
#include <string>

#include <lockstep/base/errors.h>

namespace lockstep {

// An error on one line, for a sentence round it: what failed and what was found, without what to do about it.
inline std::string in_short(const std::exception& error) {
  const auto* const ours = dynamic_cast<const Error*>(&error);
  if (ours == nullptr) return error.what();
  return ours->parts().found.empty() ? ours->parts().message : ours->parts().message + ": " + ours->parts().found;
}

}  // namespace lockstep
