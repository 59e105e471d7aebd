// Data sets of tensors that lie in files.
#pragma once
#include <filesystem>
#include <string>

#include <lockstep/data/csv.h>
#include <lockstep/data/dataset.h>
#include <lockstep/data/tensor_file.h>

namespace lockstep::data {

// The rows of two tensors of a safetensors file. Errors are those of SafetensorsFile and tensor_dataset.
DatasetPtr safetensors_dataset(const std::filesystem::path& path, const std::string& data = "data",
                               const std::string& targets = "targets");

// The rows of two .npy files.
DatasetPtr npy_dataset(const std::filesystem::path& data, const std::filesystem::path& targets);

// A table's rows as floats, with its label column as targets. Throws UsageError when `options` names none.
DatasetPtr csv_dataset(const std::filesystem::path& path, const CsvOptions& options);

}  // namespace lockstep::data
