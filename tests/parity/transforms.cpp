// The C++ side of transforms.py: runs each case of FOLDER/cases.json through a pipeline, and answers with what was
// drawn (answers.json) and with what came out (N.bin for case N: the samples one after the other).
//
// usage: parity_transforms FOLDER
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/data/make_transform.h>
#include <lockstep/data/mix.h>
#include <lockstep/data/pipeline.h>

namespace {

using namespace lockstep::data;
using Json = nlohmann::json;

Json to_json(const Region& region) {
  return {region.left, region.top, region.width, region.height};
}

const char* name_of(PadMode mode) {
  constexpr std::array kNames = {"constant", "edge", "reflect", "symmetric"};
  return kNames[static_cast<std::size_t>(mode)];
}

// Each operation as its name and its values; those that turn or move also have an interpolation and a fill.
struct Describe {
  template <typename Kind>
  static Json moved(Json values, const Kind& kind) {
    values.push_back(kind.interpolation == Interpolation::kBilinear ? "bilinear" : "nearest");
    values.push_back(kind.fill);
    return values;
  }

  Json operator()(const Crop& o) const { return {"crop", to_json(o.region), name_of(o.mode), o.fill}; }
  Json operator()(const Scale& o) const { return {"scale", o.size.width, o.size.height}; }
  Json operator()(const Flip& o) const { return {"flip", o.horizontal, o.vertical}; }
  Json operator()(const Rotate& o) const { return moved({"rotate", o.degrees}, o); }
  Json operator()(const Shear& o) const { return moved({"shear", o.x, o.y}, o); }
  Json operator()(const Translate& o) const { return moved({"translate", o.x, o.y}, o); }
  Json operator()(const Brightness& o) const { return {"brightness", o.factor}; }
  Json operator()(const Contrast& o) const { return {"contrast", o.factor}; }
  Json operator()(const Saturation& o) const { return {"saturation", o.factor}; }
  Json operator()(const Sharpness& o) const { return {"sharpness", o.factor}; }
  Json operator()(const Hue& o) const { return {"hue", o.turn}; }
  Json operator()(const Posterize& o) const { return {"posterize", o.bits}; }
  Json operator()(const Solarize& o) const { return {"solarize", o.threshold}; }
  Json operator()(const AutoContrast&) const { return Json::array({"auto_contrast"}); }
  Json operator()(const Equalize&) const { return Json::array({"equalize"}); }
  Json operator()(const Invert&) const { return Json::array({"invert"}); }
  Json operator()(const Grayscale& o) const { return {"grayscale", o.channels}; }
  Json operator()(const Erase& o) const { return {"erase", to_json(o.region), o.value, o.noise.has_value()}; }
};

Transforms transforms_of(const Json& listed) {
  Transforms transforms;
  for (const Json& entry : listed) {
    TransformParameters parameters;
    for (const auto& [name, value] : entry.at(1).items()) {
      if (value.is_string()) {
        parameters[name] = value.get<std::string>();
      } else {
        parameters[name] = value.is_array() ? value.get<std::vector<double>>() : std::vector{value.get<double>()};
      }
    }
    transforms.push_back(make_transform(entry.at(0).get<std::string>(), parameters));
  }
  return transforms;
}

// What the pipeline draws for a sample: each transform from its own fork, for the size that the one before it left.
Json drawn(const Transforms& transforms, ImageSize size, const RandomStream& random) {
  Json described = Json::array();
  for (std::size_t i = 0; i < transforms.size(); ++i) {
    std::vector<Operation> operations;
    RandomStream own = random.fork(i);
    transforms[i]->draw(size, own, operations);
    for (const Operation& operation : operations) described.push_back(std::visit(Describe{}, operation));
    size = transforms[i]->output_size(size);
  }
  return described;
}

void write(std::ofstream& file, std::span<const std::byte> bytes) {
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Json run_case(const std::filesystem::path& folder, const Json& asked, std::ofstream& out) {
  const std::string file = lockstep::files::read(folder / asked.at("file").get<std::string>());
  Picture picture{.bytes = std::as_bytes(std::span(file))};
  ImageSize size;
  if (asked.contains("pixels")) {
    picture.form = Picture::Form::kPixels;
    asked.at("pixels").at(0).get_to(picture.width);
    asked.at("pixels").at(1).get_to(picture.height);
    asked.at("pixels").at(2).get_to(picture.channels);
    size = {picture.width, picture.height};
  } else {
    size = picture_size(picture.bytes);
  }
  const Transforms transforms = transforms_of(asked.at("transforms"));
  const Pipeline pipeline(transforms);
  Pipeline::Scratch scratch;
  const ImageSize made = pipeline.output_size(size);
  std::vector<float> slot(static_cast<std::size_t>(made.width) * static_cast<std::size_t>(made.height) *
                          static_cast<std::size_t>(pipeline.channels()));
  Json answer = {{"size", {made.height, made.width, pipeline.channels()}}, {"drawn", Json::array()}};
  for (std::uint64_t sample = 0; sample < asked.at("samples").get<std::uint64_t>(); ++sample) {
    const RandomStream random(7, 0, sample);
    pipeline.run(picture, random, scratch, slot);
    write(out, std::as_bytes(std::span(slot)));
    answer["drawn"].push_back(drawn(transforms, size, random));
  }
  return answer;
}

// A batch of floats, mixed; the soft labels follow.
Json run_mix(const std::filesystem::path& folder, const Json& asked, std::ofstream& out) {
  const std::string file = lockstep::files::read(folder / asked.at("file").get<std::string>());
  std::vector<float> pixels(file.size() / sizeof(float));
  std::memcpy(pixels.data(), file.data(), pixels.size() * sizeof(float));
  const auto labels = asked.at("labels").get<std::vector<std::int64_t>>();
  const auto classes = asked.at("classes").get<std::int64_t>();
  const ImageSize size{asked.at("width"), asked.at("height")};
  std::vector<float> soft(labels.size() * static_cast<std::size_t>(classes));
  RandomStream random(7, 0, asked.at("seed").get<std::uint64_t>());
  Json answer;
  if (asked.at("mix") == "mix_up") {
    const MixUp mix = draw_mix_up(asked.at("alpha"), random);
    mix_up(mix, pixels, labels, classes, soft);
    answer = {{"share", mix.share}};
  } else {
    const CutMix mix = draw_cut_mix(asked.at("alpha"), size, random);
    cut_mix(mix, size, pixels, labels, classes, soft);
    answer = {{"share", mix.share}, {"box", to_json(mix.box)}};
  }
  write(out, std::as_bytes(std::span(pixels)));
  write(out, std::as_bytes(std::span(soft)));
  return answer;
}

int body(int argc, char** argv) {
  if (argc != 2) throw lockstep::UsageError("usage: parity_transforms FOLDER");
  const std::filesystem::path folder = argv[1];
  const Json cases = Json::parse(lockstep::files::read(folder / "cases.json"));
  Json answers = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::ofstream out(folder / (std::to_string(i) + ".bin"), std::ios::binary);
    answers.push_back(cases[i].contains("mix") ? run_mix(folder, cases[i], out) : run_case(folder, cases[i], out));
  }
  std::ofstream(folder / "answers.json") << answers;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}
