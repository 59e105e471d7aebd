// Group's functions for values that are no tensors.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/comm/group.h>

namespace lockstep {
namespace {

at::Tensor tensor_of(const std::string& text) {
  const at::Tensor tensor = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), static_cast<char*>(tensor.mutable_data_ptr()));
  return tensor;
}

std::string text_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::size_t>(tensor.numel())};
}

// What came from another rank is checked as any input is.
nlohmann::json parse(const std::string& text, int rank) {
  auto value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) throw RuntimeError("rank " + std::to_string(rank) + " sent what is no JSON");
  return value;
}

}  // namespace

double Group::all_reduce_value(double value, Reduce op) const {
  const at::Tensor tensor = at::full({1}, value, at::kDouble);
  all_reduce(tensor, op);
  return tensor.item<double>();
}

std::int64_t Group::all_reduce_value(std::int64_t value, Reduce op) const {
  const at::Tensor tensor = at::full({1}, value, at::kLong);
  all_reduce(tensor, op);
  return tensor.item<std::int64_t>();
}

std::string Group::broadcast_text(const std::string& text, int root) const {
  const at::Tensor length = at::full({1}, static_cast<std::int64_t>(text.size()), at::kLong);
  broadcast(length, root);
  const at::Tensor bytes = rank() == root ? tensor_of(text) : at::empty({length.item<std::int64_t>()}, at::kByte);
  broadcast(bytes, root);
  return text_of(bytes);
}

std::vector<std::string> Group::all_gather_text(const std::string& text) const {
  std::vector<std::string> result;
  for (const at::Tensor& tensor : all_gather(tensor_of(text))) result.push_back(text_of(tensor));
  return result;
}

nlohmann::json Group::broadcast_json(const nlohmann::json& value, int root) const {
  return parse(broadcast_text(rank() == root ? value.dump() : "", root), root);
}

std::vector<nlohmann::json> Group::all_gather_json(const nlohmann::json& value) const {
  std::vector<nlohmann::json> result;
  for (const std::string& text : all_gather_text(value.dump())) {
    result.push_back(parse(text, static_cast<int>(result.size())));
  }
  return result;
}

}  // namespace lockstep
