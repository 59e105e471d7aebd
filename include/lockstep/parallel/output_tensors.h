// The tensors inside what a module's forward returns.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

namespace lockstep {

using TensorVisitor = std::function<void(at::Tensor&)>;

// Calls `visit` for each tensor, which it may replace. For tensors, and tuples, pairs, vectors, arrays, optionals and
// maps of what is visited; a type of one's own gets an overload of the same name in its namespace. What TorchScript
// returns may be a tensor or a tuple or list of them; it is replaced where it is.
inline void visit_tensors(at::Tensor& tensor, const TensorVisitor& visit) {
  visit(tensor);
}

void visit_tensors(c10::IValue& value, const TensorVisitor& visit);

template <typename T>
void visit_tensors(std::vector<T>& values, const TensorVisitor& visit);
template <typename T, std::size_t N>
void visit_tensors(std::array<T, N>& values, const TensorVisitor& visit);
template <typename T>
void visit_tensors(std::optional<T>& value, const TensorVisitor& visit);
template <typename K, typename V>
void visit_tensors(std::map<K, V>& values, const TensorVisitor& visit);
template <typename A, typename B>
void visit_tensors(std::pair<A, B>& values, const TensorVisitor& visit);
template <typename... T>
void visit_tensors(std::tuple<T...>& values, const TensorVisitor& visit);

template <typename T>
void visit_tensors(std::vector<T>& values, const TensorVisitor& visit) {
  for (T& value : values) visit_tensors(value, visit);
}

template <typename T, std::size_t N>
void visit_tensors(std::array<T, N>& values, const TensorVisitor& visit) {
  for (T& value : values) visit_tensors(value, visit);
}

template <typename T>
void visit_tensors(std::optional<T>& value, const TensorVisitor& visit) {
  if (value) visit_tensors(*value, visit);
}

template <typename K, typename V>
void visit_tensors(std::map<K, V>& values, const TensorVisitor& visit) {
  for (auto& [key, value] : values) visit_tensors(value, visit);
}

template <typename A, typename B>
void visit_tensors(std::pair<A, B>& values, const TensorVisitor& visit) {
  visit_tensors(values.first, visit);
  visit_tensors(values.second, visit);
}

template <typename... T>
void visit_tensors(std::tuple<T...>& values, const TensorVisitor& visit) {
  std::apply([&](T&... value) { (visit_tensors(value, visit), ...); }, values);
}

}  // namespace lockstep
