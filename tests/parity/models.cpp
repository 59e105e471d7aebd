// The C++ side of models.py. For each case it makes the model from the seed, loads the state that came with the case,
// if one did, and answers with output, loss, gradients and buffers; and with the state of a model from another seed,
// and that model's output, for the way back.
//
// usage: parity_models FOLDER SEED CASE...
#include <filesystem>

#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/nn/losses.h>
#include <lockstep/nn/model_state.h>
#include <lockstep/nn/registry.h>

#include "tensors.h"

namespace {

using lockstep::nn::make_model;
using lockstep::nn::Model;
using lockstep::nn::NamedState;
using Tensors = c10::Dict<std::string, at::Tensor>;

Tensors shapes_of(const NamedState& state) {
  Tensors shapes;
  for (const auto& [name, tensor] : state) shapes.insert(name, torch::tensor(tensor.sizes(), at::kLong));
  return shapes;
}

// As sample() of models.py: of a large tensor, some of its values.
at::Tensor sample(const at::Tensor& tensor) {
  return tensor.numel() > 1'000'000 ? tensor.flatten().slice(0, 0, std::nullopt, 97) : tensor;
}

Tensors samples_of(const NamedState& state) {
  Tensors samples;
  for (const auto& [name, tensor] : state) samples.insert(name, sample(tensor).clone());
  return samples;
}

NamedState state_in(const c10::IValue& sent) {
  NamedState state;
  for (const auto& entry : sent.toGenericDict())
    state.emplace_back(entry.key().toStringRef(), entry.value().toTensor());
  return state;
}

Tensors way_back(const std::shared_ptr<Model>& model, const at::Tensor& input) {
  Tensors state;
  for (const auto& [name, tensor] : lockstep::nn::state_of_model(*model)) state.insert(name, tensor);
  model->eval();
  const at::NoGradGuard no_gradients;
  state.insert("the output", model->forward(input));
  return state;
}

void answer(const std::filesystem::path& path, std::uint64_t seed) {
  const std::string stem = path.stem(), name = stem.substr(0, stem.find('-'));
  const auto sent = lockstep::test::read_tensors(path);
  const auto tensor = [&](const char* key) { return sent.at(key).toTensor(); };
  const lockstep::nn::ModelOptions options{.num_classes = tensor("classes").item<std::int64_t>(),
                                           .stem = lockstep::nn::parse_stem(stem.substr(name.size() + 1)),
                                           .zero_init_residual = sent.contains("zero_init_residual")};
  torch::manual_seed(seed);
  const auto model = make_model(name, options);
  const Tensors initial = samples_of(lockstep::nn::state_of_model(*model));
  const bool travels = sent.contains("state");
  if (travels) lockstep::nn::load_state(*model, state_in(sent.at("state")));

  torch::manual_seed(seed);
  const at::Tensor output = model->forward(tensor("input"));
  const at::Tensor loss = lockstep::nn::cross_entropy(output, tensor("labels"));
  loss.backward();
  Tensors results, gradients, buffers;
  results.insert("output", output.detach());
  results.insert("loss", loss.detach());
  for (const auto& parameter : model->named_parameters())
    gradients.insert(parameter.key(), sample(parameter->grad()).clone());
  for (const auto& buffer : model->named_buffers()) buffers.insert(buffer.key(), buffer.value());

  c10::impl::GenericDict all(c10::StringType::get(), c10::AnyType::get());
  all.insert("shapes", shapes_of(lockstep::nn::state_of_model(*model)));
  all.insert("initial", initial);
  all.insert("results", results);
  all.insert("gradients", gradients);
  all.insert("buffers", buffers);
  torch::manual_seed(seed + 1);
  if (travels) all.insert("back", way_back(make_model(name, options), tensor("input")));
  lockstep::test::write_tensors(path.parent_path() / (stem + ".answer.pt"), all);
}

int body(int argc, char** argv) {
  const std::filesystem::path folder = argv[1];
  for (int i = 3; i < argc; ++i) answer(folder / (argv[i] + std::string(".pt")), std::stoull(argv[2]));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // The same operations as in Python, so that nothing but the model can differ.
  lockstep::kernels::set_engine(lockstep::kernels::Engine::kReference);
  return lockstep::report_errors({}, body, argc, argv);
}
