#pragma once
#include <cstdint>
#include <filesystem>

#include <lockstep/tensorboard/tensor_options.h>

namespace lockstep::tensorboard {

// Writes tensors.tsv, and metadata.tsv and sprite.png where they are given, into STEP/TAG of `folder`, and adds them to
// its projector_config.pbtxt, each file whole or not at all. Throws UsageError for shapes that do not agree,
// RuntimeError when writing fails.
void write_embedding(const std::filesystem::path& folder, const at::Tensor& matrix, std::int64_t step,
                     const EmbeddingOptions& options);

}  // namespace lockstep::tensorboard
