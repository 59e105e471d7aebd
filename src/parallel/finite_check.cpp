#include "finite_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/text.h>
#include <lockstep/parallel/not_finite_error.h>

#include "finite.h"

namespace lockstep::parallel {

void FiniteCheck::begin() {
  before_.clear();
  after_.clear();
}

void FiniteCheck::look_before(const std::string& name, const at::Tensor& gradient) {
  if (on_ && gradient.is_cpu() && !looks_finite(gradient)) before_.push_back(name);
}

void FiniteCheck::look_after(const std::string& name, const at::Tensor& gradient) {
  if (on_ && gradient.is_cpu() && !looks_finite(gradient)) after_.push_back(name);
}

void FiniteCheck::require_finite(const Group& group) const {
  if (after_.empty()) return;
  constexpr std::size_t kNamed = 5;
  std::vector<std::string> places;
  const auto all = group.all_gather_text(before_.empty() ? "" : format_some(before_, kNamed));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].empty()) places.push_back(fmt::format("rank {}: {}", rank, all[rank]));
  }
  throw NotFiniteError({.message = "gradients are not finite",
                        .found = places.empty() ? fmt::format("on no rank, but where those of all came together: {}",
                                                              format_some(after_, kNamed))
                                                : fmt::format("{}", fmt::join(places, "; ")),
                        .next = "look at the input and the loss of that rank; with a loss scaler, which skips such "
                                "steps, set check_gradients = false"});
}

}  // namespace lockstep::parallel
