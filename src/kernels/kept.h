#pragma once
#include <utility>

#include <ATen/core/ivalue.h>

namespace lockstep::kernels {

// A value of any type among what a forward pass saves for the backward one: context->saved_data["name"] = keep(value).
template <typename Value>
struct Kept : torch::CustomClassHolder {
  explicit Kept(Value its_value) : value(std::move(its_value)) {}
  Value value;
};

template <typename Value>
c10::IValue keep(Value value) {
  return c10::IValue::make_capsule(c10::make_intrusive<Kept<Value>>(std::move(value)));
}

// What keep() was given, as long as the saved data lives. The type has to be that one.
template <typename Value>
const Value& kept(const c10::IValue& saved) {
  return static_cast<const Kept<Value>&>(*saved.toCapsule()).value;
}

}  // namespace lockstep::kernels
