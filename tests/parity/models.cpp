// The C++ side of models.py: loads the state of each case into the model of that name and answers with its output,
// loss, gradients and buffers; and lists the names and shapes of further models.
//
// usage: parity_models FOLDER SEED MODEL...
#include <filesystem>
#include <fstream>

#include <torch/csrc/api/include/torch/serialize.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/registry.h>

#include "tensors.h"

namespace {

using lockstep::nn::make_model;
using lockstep::nn::Model;
using Tensors = c10::Dict<std::string, at::Tensor>;
using Answer = c10::Dict<std::string, Tensors>;

void write(const std::filesystem::path& path, const c10::IValue& value) {
  const std::vector<char> bytes = torch::pickle_save(value);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Tensors state_of(const Model& model) {
  Tensors state;
  for (const auto& parameter : model.named_parameters()) state.insert(parameter.key(), parameter->detach());
  for (const auto& buffer : model.named_buffers()) state.insert(buffer.key(), buffer.value());
  return state;
}

Tensors shapes_of(const Tensors& state) {
  Tensors shapes;
  for (const auto& entry : state) shapes.insert(entry.key(), torch::tensor(entry.value().sizes(), at::kLong));
  return shapes;
}

// As sample() of models.py: of a large tensor, some of its values.
at::Tensor sample(const at::Tensor& tensor) {
  return tensor.numel() > 1'000'000 ? tensor.flatten().slice(0, 0, std::nullopt, 97) : tensor;
}

Tensors samples_of(const Tensors& state) {
  Tensors samples;
  for (const auto& entry : state) samples.insert(entry.key(), sample(entry.value()).clone());
  return samples;
}

void answer(const std::filesystem::path& path, std::uint64_t seed) {
  const std::string stem = path.stem(), name = stem.substr(0, stem.find('-'));
  const auto sent = lockstep::test::read_tensors(path);
  const auto tensor = [&](const char* key) { return sent.at(key).toTensor(); };
  torch::manual_seed(seed);
  const auto model = make_model(name, {.num_classes = tensor("classes").item<std::int64_t>(),
                                       .stem = lockstep::nn::parse_stem(stem.substr(name.size() + 1))});
  const Tensors state = state_of(*model), initial = samples_of(state);
  for (const auto& entry : sent.at("state").toGenericDict()) {
    const std::string key = entry.key().toStringRef();
    if (state.contains(key)) state.at(key).copy_(entry.value().toTensor());
  }

  torch::manual_seed(seed);
  const at::Tensor output = model->forward(tensor("input"));
  const at::Tensor loss = torch::nn::functional::cross_entropy(output, tensor("labels"));
  loss.backward();
  Tensors results, gradients, buffers;
  results.insert("output", output.detach());
  results.insert("loss", loss.detach());
  for (const auto& parameter : model->named_parameters())
    gradients.insert(parameter.key(), sample(parameter->grad()).clone());
  for (const auto& buffer : model->named_buffers()) buffers.insert(buffer.key(), buffer.value());

  c10::impl::GenericDict all(c10::StringType::get(), c10::AnyType::get());
  all.insert("shapes", shapes_of(state));
  all.insert("initial", initial);
  all.insert("results", results);
  all.insert("gradients", gradients);
  all.insert("buffers", buffers);
  write(path.parent_path() / (stem + ".answer.pt"), all);
}

int body(int argc, char** argv) {
  const std::filesystem::path folder = argv[1];
  const std::uint64_t seed = std::stoull(argv[2]);
  std::vector<std::filesystem::path> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) cases.push_back(entry.path());
  for (const auto& path : cases) answer(path, seed);

  c10::impl::GenericDict named(c10::StringType::get(), c10::AnyType::get());
  for (int i = 3; i < argc; ++i) named.insert(argv[i], shapes_of(state_of(*make_model(argv[i]))));
  write(folder / "names.pt", named);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
