// Options of a SummaryWriter's calls that hold tensors.
#pragma once
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::tensorboard {

struct PrCurveOptions {
  int num_thresholds = 127;  // more than 127 become 127, as in theirs
  at::Tensor weights = {};   // one for each prediction; undefined: all 1
};

// What add_pr_curve() counts: one value for each threshold, in the order of thresholds.
struct RawPrCurve {
  at::Tensor true_positives, false_positives, true_negatives, false_negatives, precision, recall;
};

struct EmbeddingOptions {
  // For each row of the matrix a label, or several columns of them.
  std::vector<std::vector<std::string>> metadata = {};
  std::vector<std::string> metadata_header = {};  // names of the columns; needed when there are several
  at::Tensor label_images = {};                   // NCHW, square
  std::string tag = "default";
};

struct MeshOptions {
  at::Tensor colors = {};   // as vertices; 0 to 255
  at::Tensor faces = {};    // batch x faces x 3: indices of vertices
  std::string config = {};  // JSON for three.js, such as {"camera": {"cls": "PerspectiveCamera", "fov": 75}}
};

}  // namespace lockstep::tensorboard
