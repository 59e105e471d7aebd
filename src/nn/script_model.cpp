#include "script_model.h"

#include <array>
#include <filesystem>
#include <fstream>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <lockstep/base/errors.h>

#include "families.h"

namespace lockstep::nn {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr const char* kHowToSave = "save it in Python by torch.jit.script(model).save(PATH)";

// Says what a file is that torch::jit::load could not make sense of, or would explain in pages.
void require_script(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) {
    throw UsageError({.message = fmt::format("there is no file '{}'", path),
                      .expected = "a TorchScript file, or the name of a model",
                      .next = kHowToSave});
  }
  std::array<char, 4> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  if (std::string_view(start.data(), start.size()) != "PK\x03\x04") {
    const bool pickle = start[0] == '\x80';
    throw UsageError({.message = fmt::format("'{}' is no TorchScript file", path),
                      .found = pickle ? "a pickle, as torch.save wrote them long ago" : "another kind of file",
                      .next = kHowToSave});
  }
  try {
    caffe2::serialize::PyTorchStreamReader reader(path);
    if (reader.hasRecord("constants.pkl")) return;
  } catch (const c10::Error&) {
    throw UsageError({.message = fmt::format("'{}' is damaged", path),
                      .found = fmt::format("an archive of {} bytes without its end", std::filesystem::file_size(path)),
                      .expected = "a whole TorchScript file",
                      .next = "copy it again"});
  }
  throw UsageError({.message = fmt::format("'{}' is no TorchScript file", path),
                    .found = "an archive without code, as torch.save writes it",
                    .next = std::string(kHowToSave) + "; weights alone are loaded into a model of the registry"});
}

torch::jit::Module load_script(const std::string& path) {
  require_script(path);
  try {
    return torch::jit::load(path, at::Device(at::kCPU));
  } catch (const std::exception& error) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    throw UsageError({.message = fmt::format("'{}' cannot be loaded", path),
                      .found = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what()});
  }
}

// A module without a forward, which holds the tensors of `script` under their names: the tensors are the same.
void mirror(torch::nn::Module& module, const torch::jit::Module& script) {
  for (const auto& parameter : script.named_parameters(/*recurse=*/false)) {
    module.register_parameter(parameter.name, parameter.value, parameter.value.requires_grad());
  }
  for (const auto& buffer : script.named_buffers(/*recurse=*/false)) module.register_buffer(buffer.name, buffer.value);
  for (const auto& child : script.named_children()) {
    mirror(*module.register_module(child.name, std::make_shared<torch::nn::Module>()), child.value);
  }
}

// The tensors of the TorchScript module are also this module's, so optimizers, to() and the wrappers of `parallel` find
// them as those of any other model.
class ScriptModel : public Model {
 public:
  ScriptModel(torch::jit::Module script, Shape input_shape, std::int64_t num_classes)
      : Model(std::move(input_shape), num_classes), script_(std::move(script)) {
    mirror(*this, script_);
  }

  at::Tensor forward(at::Tensor input) override { return script_.forward({std::move(input)}).toTensor(); }

  void train(bool on = true) override {
    Model::train(on);
    script_.train(on);
  }

  // From memory: the file may be another one by now.
  std::shared_ptr<torch::nn::Module> clone(const std::optional<at::Device>& device = std::nullopt) const override {
    const at::NoGradGuard no_gradients;
    const torch::jit::Module copied = script_.deepcopy();
    auto copy = std::make_shared<ScriptModel>(copied, input_shape(), num_classes());
    const auto from = parameters(), to = copy->parameters();
    for (std::size_t i = 0; i < from.size(); ++i) to[i].requires_grad_(from[i].requires_grad());
    copy->train(is_training());
    if (device) copy->to(*device);
    return copy;
  }

 private:
  torch::jit::Module script_;
};

// What was asked for, or what the module says by an attribute of its own, or a picture.
Shape input_shape_of(const torch::jit::Module& script, const ModelOptions& options) {
  if (!options.input_shape.empty()) return options.input_shape;
  if (script.hasattr("input_shape") && script.attr("input_shape").isIntList()) {
    return script.attr("input_shape").toIntVector();
  }
  constexpr std::int64_t kSide = 224;
  return {options.input_channels > 0 ? options.input_channels : 3, kSide, kSide};
}

// Of a batch of zeros. Two samples, because a batch of one may lose its first dimension unseen.
std::int64_t classes_of(torch::jit::Module& script, const Shape& shape, const std::string& path) {
  constexpr std::int64_t kBatch = 2;
  const at::NoGradGuard no_gradients;
  Shape batch = shape;
  batch.insert(batch.begin(), kBatch);
  const auto refuse = [&](const std::string& found) {
    throw UsageError({.message = fmt::format("'{}' does not take an input of {}", path, fmt::join(batch, " x ")),
                      .found = found,
                      .expected = "samples x classes",
                      .next = "give the shape of one sample as input_shape"});
  };
  script.eval();
  c10::IValue output;
  try {
    output = script.forward({at::zeros(batch)});
  } catch (const std::exception& error) {
    const std::string text = error.what();
    refuse("the error " +
           text.substr(text.rfind("RuntimeError") == std::string::npos ? 0 : text.rfind("RuntimeError")));
  }
  if (!output.isTensor()) refuse("an output of type " + output.tagKind());
  const at::Tensor tensor = output.toTensor();
  if (tensor.dim() != 2 || tensor.size(0) != kBatch) refuse(c10::str("an output of shape ", tensor.sizes()));
  return tensor.size(1);
}

}  // namespace

bool is_script_file(const std::string& name) {
  return name.ends_with(".pt");
}

std::shared_ptr<Model> load_script_model(const std::string& path, const ModelOptions& options) {
  require_no_resnet_options(path, options);
  torch::jit::Module script = load_script(path);
  const Shape shape = input_shape_of(script, options);
  const std::int64_t classes = classes_of(script, shape, path);
  if (options.num_classes > 0 && options.num_classes != classes) {
    throw UsageError({.message = fmt::format("'{}' has another number of classes", path),
                      .found = std::to_string(classes),
                      .expected = std::to_string(options.num_classes),
                      .next = "leave num_classes out, or save a model with that many"});
  }
  auto model = std::make_shared<ScriptModel>(std::move(script), shape, classes);
  model->train();
  return model;
}

}  // namespace lockstep::nn
