#include "not_finite.h"

#include <cmath>

#include <ATen/ops/isfinite.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::train {
namespace {

bool is_finite(const at::Tensor& tensor) {
  return !tensor.defined() || !tensor.is_floating_point() || at::isfinite(tensor).all().item<bool>();
}

// Empty where everything is finite: then it is the data, or the computation of this step alone.
std::string find_tensor(const nn::Model& model) {
  for (const auto& parameter : model.named_parameters()) {
    if (!is_finite(parameter.value())) return fmt::format("parameter '{}'", parameter.key());
  }
  for (const auto& buffer : model.named_buffers()) {
    if (!is_finite(buffer.value())) return fmt::format("buffer '{}'", buffer.key());
  }
  for (const auto& parameter : model.named_parameters()) {
    if (!is_finite(parameter->grad())) return fmt::format("the gradient of '{}'", parameter.key());
  }
  return "";
}

}  // namespace

void report_not_finite(const nn::Model& model, double loss, std::int64_t step, std::optional<double> loss_scale,
                       const Group& group) {
  const bool is_bad = !std::isfinite(loss);
  const auto all = group.all_gather_json(nlohmann::json{{"bad", is_bad}, {"tensor", is_bad ? find_tensor(model) : ""}});
  std::vector<int> ranks;
  std::string tensor;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].at("bad").get<bool>()) continue;
    ranks.push_back(static_cast<int>(i));
    if (tensor.empty()) tensor = all[i].at("tensor").get<std::string>();
  }
  const std::string found =
      tensor.empty() ? "parameters, buffers and gradients are finite" : tensor + " is not finite either";
  const std::string scale = loss_scale ? fmt::format(", the loss scale is {}", *loss_scale) : "";
  throw RuntimeError(
      {.message = fmt::format("the loss is NaN or infinite on {} by step {}", format_ranks(ranks), step),
       .found = found + scale,
       .next = "a lower learning rate, a warm-up or clipping often help; look at the samples of these steps too"});
}

}  // namespace lockstep::train
