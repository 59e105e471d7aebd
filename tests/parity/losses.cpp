// The C++ side of losses.py: for each case of FOLDER/cases.pt the loss, the gradient of the scores, and the counts.
//
// usage: parity_losses FOLDER
#include <filesystem>

#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/losses.h>

#include "tensors.h"

namespace {

using Tensors = c10::Dict<std::string, at::Tensor>;

Tensors answer(const c10::Dict<c10::IValue, c10::IValue>& sent) {
  const auto tensor = [&](const char* key) { return sent.at(key).toTensor(); };
  const at::Tensor scores = tensor("scores").clone().requires_grad_();
  const at::Tensor targets = tensor("targets");
  const bool squared = sent.contains("squared");
  const at::Tensor loss =
      squared ? lockstep::nn::mean_squared_error(scores, targets)
              : lockstep::nn::cross_entropy(scores, targets, {.label_smoothing = tensor("smoothing").item<double>()});
  loss.backward();
  Tensors result;
  result.insert("loss", loss.detach());
  result.insert("gradient", scores.grad());
  if (!squared && scores.dim() == 2) result.insert("counts", lockstep::nn::count_correct(scores, targets, {1, 5}));
  return result;
}

int body(int, char** argv) {
  const std::filesystem::path folder = argv[1];
  c10::Dict<std::string, Tensors> answers;
  for (const auto& entry : lockstep::test::read_tensors(folder / "cases.pt")) {
    answers.insert(entry.key().toStringRef(), answer(entry.value().toGenericDict()));
  }
  lockstep::test::write_tensors(folder / "answers.pt", answers);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
