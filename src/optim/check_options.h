// Options that mean something, of every optimizer.
#pragma once
#include <string_view>
#include <tuple>

namespace lockstep::optim {

// Throw UsageError that names the option, the value found and what would do.
void check_at_least_zero(std::string_view option, double value);
void check_betas(const std::tuple<double, double>& betas);
void check_nesterov(bool nesterov, double momentum, double dampening);

// All of an optimizer's options, whichever it has.
template <typename Options>
void check_options(const Options& options) {
  check_at_least_zero("lr", options.lr());
  check_at_least_zero("weight_decay", options.weight_decay());
  if constexpr (requires { options.momentum(); }) check_at_least_zero("momentum", options.momentum());
  if constexpr (requires { options.eps(); }) check_at_least_zero("eps", options.eps());
  if constexpr (requires { options.betas(); }) check_betas(options.betas());
  if constexpr (requires { options.trust_coefficient(); }) {
    check_at_least_zero("trust_coefficient", options.trust_coefficient());
  }
  if constexpr (requires { options.nesterov(); }) {
    check_nesterov(options.nesterov(), options.momentum(), options.dampening());
  }
}

}  // namespace lockstep::optim
