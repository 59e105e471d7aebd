#pragma once
#include <exception>
#include <string>

#include <c10/util/Exception.h>

#include <lockstep/base/errors.h>

#include "operation.h"

namespace lockstep::comm {

// Whether a rank is known to be lost, now or within a second: a rank that died breaks connections first.
bool loss_is_known(const LossFlag& loss);

// Without the C++ stack that libtorch puts behind it.
std::string first_line(const std::string& what);

// The error for an operation that c10d gave up with `what`. A rank that died breaks connections first and is known to
// be lost a moment later; if `loss` is given it is waited for, because who died is the better half of the message.
[[nodiscard]] RuntimeError failed(const std::string& operation, const std::string& what, const LossFlag* loss);

// Runs a call into c10d and turns what it throws into a RuntimeError that names the operation. libtorch's messages end
// with a C++ stack, which helps no user; it is left out.
template <typename Call>
auto guarded(const std::string& operation, Call&& call, const LossFlag* loss = nullptr) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw failed(operation, error.what_without_backtrace(), loss);
  } catch (const std::exception& error) {
    throw failed(operation, error.what(), loss);
  }
}

}  // namespace lockstep::comm
