// In which types a model computes, keeps its parameters and takes its gradients: one option for all of it.
#pragma once
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

namespace lockstep::amp {

// By what the loss is multiplied, so that small gradients survive in fp16.
struct LossScale {
  enum class Kind {
    kNone,     // nothing is scaled, and no gradient is looked at
    kStatic,   // `value`, for ever; a step whose gradients overflow is skipped
    kDynamic,  // begins with `value`, falls when gradients overflow, and grows after a while without
  };
  Kind kind = Kind::kNone;
  double value = 1;

  bool operator==(const LossScale&) const = default;
};

// What a name such as "O2" means.
struct Precision {
  std::string name = "O0";
  std::optional<at::ScalarType> autocast;  // operations run in this type where libtorch's table allows it
  std::optional<at::ScalarType> model;     // parameters and buffers are cast to it
  bool keep_batchnorm_fp32 = false;        // all but those of batch normalizations
  bool master_weights = false;             // the optimizer has copies in fp32 of the parameters that were cast
  LossScale loss_scale;

  // The 16-bit type that is at work, if there is one.
  std::optional<at::ScalarType> low_type() const { return model ? model : autocast; }
  // Whether steps may be skipped: then who reduces gradients must not take an overflow for an error.
  bool skips_steps() const { return loss_scale.kind != LossScale::Kind::kNone; }
};

// What deviates from a level's defaults.
struct PrecisionOverrides {
  std::optional<at::ScalarType> dtype;    // kHalf or kBFloat16 in place of the level's fp16
  std::optional<std::string> loss_scale;  // "dynamic", "none" or a number
  std::optional<bool> keep_batchnorm_fp32;
  std::optional<bool> master_weights;
};

// Apex's levels and the names of types, in upper or lower case:
//
//   O0, fp32   everything in fp32
//   O1, fp16   autocast to fp16, dynamic loss scale
//   O2         model in fp16, its batch normalizations in fp32, master weights in fp32, dynamic loss scale
//   O3         all in fp16, loss scale 1.0
//   bf16       O1 with bf16
//
// In bf16, which has the range of fp32, no level scales the loss by itself. Throws UsageError for another name, with
// the nearest, for a loss scale that is none, and for an override that the level has no use for.
Precision parse_precision(const std::string& name, const PrecisionOverrides& overrides = {});

// Throws UsageError where a type cannot be used on a device: fp16 on a CPU whose instructions do not have it, where
// libtorch has no fast kernels for it.
void require_type(at::DeviceType device, at::ScalarType type);

}  // namespace lockstep::amp
