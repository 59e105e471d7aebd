#include "embedding.h"

#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

#include "pixels.h"
#include "png_encoder.h"
#include "tag.h"
#include "tensors.h"

namespace lockstep::tensorboard {
namespace {

constexpr const char* kConfig = "projector_config.pbtxt";

// A tag as the name of one folder, as tensorboardX has it.
std::string folder_name(const std::string& tag) {
  std::string name;
  for (const char character : tag) {
    const bool special = character == '%' || character == '/' || character == '\\';
    name += special ? fmt::format("%{:02x}", character) : std::string(1, character);
  }
  // Two names would lead out of the folder.
  return name == "." || name == ".." ? "_" : name;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') result += '\\';
    result += character;
  }
  return result + "\"";
}

std::string matrix_table(const at::Tensor& matrix) {
  const at::Tensor values = on_cpu(matrix).to(at::kFloat).contiguous();
  const float* value = values.const_data_ptr<float>();
  std::string table;
  for (std::int64_t row = 0; row < values.size(0); ++row) {
    for (std::int64_t column = 0; column < values.size(1); ++column) {
      fmt::format_to(std::back_inserter(table), "{}{}", column == 0 ? "" : "\t", *value++);
    }
    table += '\n';
  }
  return table;
}

// A field of a table: a tab or an end of a line would begin another.
std::string field(const std::string& text) {
  std::string cleaned = clean_text(text);
  for (char& character : cleaned) {
    if (character == '\t' || character == '\n') character = ' ';
  }
  return cleaned;
}

std::string table_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& text : fields) line += (line.empty() ? "" : "\t") + field(text);
  return line + "\n";
}

std::string metadata_table(const EmbeddingOptions& options) {
  std::string table = options.metadata_header.empty() ? "" : table_line(options.metadata_header);
  for (const auto& labels : options.metadata) table += table_line(labels);
  return table;
}

void check(const at::Tensor& matrix, const EmbeddingOptions& options) {
  require_elements(matrix, "an embedding");
  const auto refuse = [&](const std::string& found, const std::string& expected) {
    throw UsageError({.message = fmt::format("the embedding '{}' cannot be written", options.tag),
                      .found = found,
                      .expected = expected});
  };
  if (matrix.dim() != 2 || matrix.is_complex()) refuse(describe(matrix), "points x values");
  const auto points = static_cast<std::size_t>(matrix.size(0));
  if (!options.metadata.empty() && options.metadata.size() != points) {
    refuse(fmt::format("{} labels for {} points", options.metadata.size(), points), "one for each");
  }
  const std::size_t columns = options.metadata_header.empty() ? 1 : options.metadata_header.size();
  for (const auto& labels : options.metadata) {
    if (labels.size() != columns)
      refuse(fmt::format("a label with {} columns", labels.size()), fmt::format("{}, as the header has", columns));
  }
  if (options.label_images.defined() &&
      (options.label_images.dim() != 4 || options.label_images.size(0) != matrix.size(0))) {
    refuse(fmt::format("label images of {} for {} points", describe(options.label_images), points),
           "NCHW, one for each");
  }
}

std::string config_entry(const std::string& subfolder, std::int64_t step, const EmbeddingOptions& options) {
  std::string entry =
      fmt::format("embeddings {{\ntensor_name: {}\ntensor_path: {}\n",
                  in_quotes(fmt::format("{}:{:05}", field(options.tag), step)), in_quotes(subfolder + "/tensors.tsv"));
  if (!options.metadata.empty()) entry += fmt::format("metadata_path: {}\n", in_quotes(subfolder + "/metadata.tsv"));
  if (options.label_images.defined()) {
    entry +=
        fmt::format("sprite {{\nimage_path: {}\nsingle_image_dim: {}\nsingle_image_dim: {}\n}}\n",
                    in_quotes(subfolder + "/sprite.png"), options.label_images.size(3), options.label_images.size(2));
  }
  return entry + "}\n";
}

}  // namespace

void write_embedding(const std::filesystem::path& folder, const at::Tensor& matrix, std::int64_t step,
                     const EmbeddingOptions& options) {
  check(matrix, options);
  const std::string subfolder =
      fmt::format("{:05}/{}", step, folder_name(clean_tag(options.tag, TagCharacters::kPrintable)));
  const std::filesystem::path target = folder / subfolder;
  std::error_code error;
  std::filesystem::create_directories(target, error);
  if (error) throw RuntimeError(fmt::format("cannot make the folder '{}': {}", target.string(), error.message()));
  files::write_atomically(target / "tensors.tsv", matrix_table(matrix));
  if (!options.metadata.empty()) files::write_atomically(target / "metadata.tsv", metadata_table(options));
  if (options.label_images.defined())
    files::write_atomically(target / "sprite.png", encode_png(to_sprite(options.label_images)));
  // What earlier calls, of this process or of one before it, have put there stays. The same embedding again is no
  // second one.
  const std::filesystem::path config = folder / kConfig;
  const std::string known = std::filesystem::exists(config) ? files::read(config) : "";
  const std::string entry = config_entry(subfolder, step, options);
  if (known.find(entry) == std::string::npos) files::write_atomically(config, known + entry);
}

}  // namespace lockstep::tensorboard
