#include <lockstep/data/file_dataset.h>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/tensor_bytes.h>

#include "copy_to_tensor.h"

namespace lockstep::data {

DatasetPtr safetensors_dataset(const std::filesystem::path& path, const std::string& data, const std::string& targets) {
  const SafetensorsFile file(path);
  return tensor_dataset(to_tensor(file.at(data), file.owner()), to_tensor(file.at(targets), file.owner()));
}

DatasetPtr npy_dataset(const std::filesystem::path& data, const std::filesystem::path& targets) {
  const TensorFile values = open_npy(data), labels = open_npy(targets);
  return tensor_dataset(to_tensor(values.tensor, values.owner), to_tensor(labels.tensor, labels.owner));
}

DatasetPtr csv_dataset(const std::filesystem::path& path, const CsvOptions& options) {
  if (options.label.empty()) {
    throw UsageError({.message = fmt::format("'{}' needs a column of labels to train on", path.string()),
                      .next = "name the column"});
  }
  const CsvTable table = read_csv(path, options);
  return tensor_dataset(copy_to_tensor(std::span(table.values), {table.rows, table.width}),
                        copy_to_tensor(std::span(table.labels), {table.rows}));
}

}  // namespace lockstep::data
