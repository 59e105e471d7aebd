// Small data sets in folders and files, and models that take what is in them.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/modules/linear.h>

#include <lockstep/data/packed_writer.h>
#include <lockstep/data/random_stream.h>
#include <lockstep/nn/registry.h>

#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {

inline std::filesystem::path picture_file(const std::string& name) {
  return test::source_path("tests/data/pictures") / name;
}

// A data set as folders of JPEG files of 61 x 47 pixels: put("train/cat/0.jpg").
class PictureTree {
 public:
  void put(const std::string& name, const std::string& from = "good/420.jpg") const {
    const auto target = path() / name;
    std::filesystem::create_directories(target.parent_path());
    std::filesystem::copy_file(picture_file(from), target, std::filesystem::copy_options::overwrite_existing);
  }
  void put_all(const std::vector<std::string>& names) const {
    for (const std::string& name : names) put(name);
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

// A packed file of `count` random pictures of pixels, of the classes in turn.
inline std::filesystem::path write_pictures(const std::filesystem::path& path, std::int64_t count, int side = 32,
                                            int channels = 3,
                                            const std::vector<std::string>& classes = {"a", "b", "c"}) {
  data::PackedWriter writer(path, classes, std::string(64, '0'));
  std::vector<std::byte> pixels(static_cast<std::size_t>(side * side * channels));
  for (std::int64_t i = 0; i < count; ++i) {
    data::RandomStream random(7, 0, static_cast<std::uint64_t>(i));
    for (std::byte& value : pixels) value = static_cast<std::byte>(random.below(256));
    writer.add({.form = data::Picture::Form::kPixels,
                .bytes = pixels,
                .owner = nullptr,
                .width = side,
                .height = side,
                .channels = channels,
                .label = i % static_cast<std::int64_t>(classes.size())},
               "picture " + std::to_string(i));
  }
  writer.finish();
  return path;
}

// Takes 3 x 32 x 32 and nothing else, as far as `pools` is false; else any size. 3 classes unless told.
class LinearNet : public nn::Model {
 public:
  LinearNet(const nn::ModelOptions& options, bool pools)
      : Model({options.input_channels > 0 ? options.input_channels : 3, 32, 32},
              options.num_classes > 0 ? options.num_classes : 3),
        pools_(pools),
        linear_(register_module("linear", torch::nn::Linear(input_shape()[0] * (pools ? 1 : 1024), num_classes()))) {}
  at::Tensor forward(at::Tensor input) override { return linear_(pools_ ? input.mean({2, 3}) : input.flatten(1)); }

 private:
  bool pools_;
  torch::nn::Linear linear_;
};

// "test_linear" and "test_pool".
inline std::shared_ptr<nn::Model> make_net(const std::string& name = "test_linear",
                                           const nn::ModelOptions& options = {}) {
  static const bool registered =
      nn::register_model("test_linear", [](const auto& o) { return std::make_shared<LinearNet>(o, false); }) &&
      nn::register_model("test_pool", [](const auto& o) { return std::make_shared<LinearNet>(o, true); });
  return registered ? nn::make_model(name, options) : nullptr;
}

}  // namespace lockstep::test
