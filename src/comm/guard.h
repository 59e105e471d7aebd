#pragma once
#include <exception>
#include <string>

#include <c10/util/Exception.h>

#include <lockstep/base/errors.h>

namespace lockstep::comm {

// Runs a call into c10d and turns what it throws into a RuntimeError that names the operation. libtorch's messages end
// with a C++ stack, which helps no user; it is left out.
template <typename Call>
auto guarded(const std::string& operation, Call&& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw RuntimeError({.message = operation + " failed: " + error.what_without_backtrace()});
  } catch (const std::exception& error) {
    throw RuntimeError({.message = operation + " failed: " + error.what()});
  }
}

}  // namespace lockstep::comm
