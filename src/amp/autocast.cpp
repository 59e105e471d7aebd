#include <lockstep/amp/autocast.h>

#include <ATen/autocast_mode.h>
#include <c10/core/DeviceType.h>

#include <lockstep/base/errors.h>

namespace lockstep::amp {
namespace {

at::DeviceType checked(at::DeviceType device, std::optional<at::ScalarType> type) {
  if (device != at::kCPU && device != at::kCUDA) {
    throw UsageError({.message = "there is no mixed precision on this device",
                      .found = c10::DeviceTypeName(device, /*lower_case=*/true),
                      .expected = "cpu or cuda"});
  }
  if (type) require_type(device, *type);
  return device;
}

}  // namespace

Autocast::Autocast(at::DeviceType device, std::optional<at::ScalarType> type)
    : device_(checked(device, type)),
      enabled_before_(at::autocast::is_autocast_enabled(device)),
      type_before_(at::autocast::get_autocast_dtype(device)),
      cache_before_(at::autocast::is_autocast_cache_enabled()) {
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(device, type.has_value());
  at::autocast::set_autocast_cache_enabled(true);
  if (!type) return;
  at::autocast::set_autocast_dtype(device, *type);
  // The cache knows a parameter's cast by the parameter alone, whatever its type.
  changes_type_ = enabled_before_ && *type != type_before_;
  if (changes_type_) at::autocast::clear_cache();
}

Autocast::~Autocast() {
  const bool outermost = at::autocast::decrement_nesting() == 0;
  if (outermost || changes_type_) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, type_before_);
  at::autocast::set_autocast_cache_enabled(cache_before_);
}

}  // namespace lockstep::amp
