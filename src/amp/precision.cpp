#include <lockstep/amp/precision.h>

#include <charconv>
#include <cmath>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>

#include <lockstep/base/cpu.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::amp {
namespace {

constexpr double kFirstScale = 65536;

std::string lower_case(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

const std::vector<std::string>& names() {
  static const std::vector<std::string> kNames = {"O0", "O1", "O2", "O3", "fp32", "fp16", "bf16"};
  return kNames;
}

std::string known_name(const std::string& name) {
  for (const std::string& known : names()) {
    if (lower_case(name) == lower_case(known)) return known;
  }
  throw UsageError({.message = fmt::format("unknown precision '{}'{}", name, did_you_mean(name, names())),
                    .expected = "one of " + format_some(names(), names().size())});
}

LossScale parse_loss_scale(const std::string& text) {
  const std::string word = lower_case(text);
  if (word == "dynamic") return {.kind = LossScale::Kind::kDynamic, .value = kFirstScale};
  if (word == "none") return {};
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value) || value <= 0) {
    throw UsageError({.message = "the loss scale is not understood",
                      .found = text,
                      .expected = "'dynamic', 'none' or a number above 0, such as 128.0"});
  }
  return {.kind = LossScale::Kind::kStatic, .value = value};
}

void require_16_bits(at::ScalarType type) {
  if (type == at::kHalf || type == at::kBFloat16) return;
  throw UsageError({.message = "mixed precision is for types of 16 bits",
                    .found = c10::toString(type),
                    .expected = "Half (fp16) or BFloat16 (bf16)"});
}

// Whether oneDNN computes fp16 on this CPU. Without it libtorch falls back to loops.
bool cpu_computes_fp16() {
  const auto asks = c10::Dispatcher::singleton().findSchema({"mkldnn::_is_mkldnn_fp16_supported", ""});
  return asks && asks->typed<bool()>().call();
}

[[noreturn]] void refuse(const std::string& level, const char* option, const char* why) {
  throw UsageError({.message = fmt::format("precision {} takes no {}: {}", level, option, why),
                    .next = "leave it out, or take O2 or O3"});
}

}  // namespace

Precision parse_precision(const std::string& name, const PrecisionOverrides& overrides) {
  Precision precision{.name = known_name(name)};
  const std::string& level = precision.name;
  if (overrides.dtype) require_16_bits(*overrides.dtype);
  const at::ScalarType type = overrides.dtype.value_or(level == "bf16" ? at::kBFloat16 : at::kHalf);
  if (level == "O0" || level == "fp32") {
    if (overrides.dtype) refuse(level, "type", "everything is in fp32");
  } else if (level == "O2" || level == "O3") {
    precision.model = type;
    precision.keep_batchnorm_fp32 = precision.master_weights = level == "O2";
  } else {
    if (overrides.dtype && level != "O1" && type != (level == "bf16" ? at::kBFloat16 : at::kHalf)) {
      throw UsageError(
          {.message = fmt::format("precision {} and type {} contradict each other", level, c10::toString(type)),
           .next = "give one of them"});
    }
    precision.autocast = type;
  }
  if (precision.low_type() == at::kHalf) {
    precision.loss_scale = parse_loss_scale(level == "O3" ? "1.0" : "dynamic");
  }
  if (overrides.loss_scale) precision.loss_scale = parse_loss_scale(*overrides.loss_scale);
  if (!precision.model) {
    if (overrides.keep_batchnorm_fp32) refuse(level, "keep_batchnorm_fp32", "the model's parameters are not cast");
    if (overrides.master_weights) refuse(level, "master_weights", "the parameters themselves are in fp32");
  }
  precision.keep_batchnorm_fp32 = overrides.keep_batchnorm_fp32.value_or(precision.keep_batchnorm_fp32);
  precision.master_weights = overrides.master_weights.value_or(precision.master_weights);
  return precision;
}

void require_type(at::DeviceType device, at::ScalarType type) {
  require_16_bits(type);
  if (device != at::kCPU || type != at::kHalf || cpu_computes_fp16()) return;
  throw UsageError({.message = "this CPU has no fp16: libtorch would compute it without its fast kernels",
                    .found = cpu::model_name(),
                    .expected = "a CPU with avx512fp16, or a GPU",
                    .next = "use bf16, which works on every CPU"});
}

}  // namespace lockstep::amp
