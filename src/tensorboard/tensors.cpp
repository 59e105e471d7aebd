#include "tensors.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>

namespace lockstep::tensorboard {
namespace {

MeshPart to_part(const char* name, const at::Tensor& tensor, const at::Tensor& vertices) {
  if (!tensor.defined()) return {};
  const bool fits =
      tensor.dim() == 3 && tensor.size(2) == 3 && vertices.dim() == 3 && tensor.size(0) == vertices.size(0);
  if (!fits) {
    throw UsageError({.message = fmt::format("the {} of a mesh do not fit", name),
                      .found = fmt::format("{}, and vertices {}", describe(tensor), describe(vertices)),
                      .expected = "batch x points x 3"});
  }
  return {.batch = tensor.size(0), .count = tensor.size(1), .values = values_of<float>(tensor, "a mesh")};
}

}  // namespace

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  return fmt::format("{}[{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

void require_elements(const at::Tensor& tensor, const std::string& what) {
  if (tensor.defined() && tensor.numel() > 0) return;
  throw UsageError({.message = fmt::format("{} for TensorBoard has no elements", what), .found = describe(tensor)});
}

at::Tensor on_cpu(const at::Tensor& tensor) {
  return tensor.detach().cpu();
}

at::Tensor flat(const at::Tensor& tensor, at::ScalarType type, const std::string& what) {
  require_elements(tensor, what);
  if (tensor.is_complex()) {
    throw UsageError(
        {.message = fmt::format("{} for TensorBoard must be of real numbers", what), .found = describe(tensor)});
  }
  return on_cpu(tensor).to(type).reshape({-1}).contiguous();
}

at::Tensor to_samples(const at::Tensor& sound) {
  require_elements(sound, "audio");
  const at::Tensor frames = sound.dim() == 1 ? sound.unsqueeze(1) : sound;
  if (frames.dim() != 2 || frames.size(1) > 2) {
    throw UsageError({.message = "a tensor is no audio",
                      .found = describe(sound),
                      .expected = "one dimension, or frames x channels for one or two channels"});
  }
  const at::Tensor clipped = at::nan_to_num(flat(frames, at::kDouble, "audio"), 0.0).clamp(-1, 1);
  return clipped.mul(32767).to(at::kShort).reshape(frames.sizes());
}

std::vector<BoxEdges> to_boxes(const at::Tensor& boxes) {
  if (!boxes.defined() || boxes.dim() != 2 || boxes.size(1) != 4) {
    throw UsageError({.message = "a tensor has no boxes",
                      .found = describe(boxes),
                      .expected = "a row of left, top, right and bottom for each"});
  }
  const at::Tensor rows = on_cpu(boxes).to(at::kFloat).contiguous();
  std::vector<BoxEdges> edges(static_cast<std::size_t>(rows.size(0)));
  for (std::size_t i = 0; i < edges.size(); ++i) std::copy_n(rows.const_data_ptr<float>() + 4 * i, 4, edges[i].begin());
  return edges;
}

Mesh to_mesh(const at::Tensor& vertices, const MeshOptions& options) {
  require_elements(vertices, "a mesh");
  Mesh mesh{.vertices = to_part("vertices", vertices, vertices),
            .faces = to_part("faces", options.faces, vertices),
            .colors = to_part("colors", options.colors, vertices),
            .config = options.config};
  if (options.colors.defined() && mesh.colors.count != mesh.vertices.count) {
    throw UsageError({.message = "a mesh needs a color for each vertex, or none at all",
                      .found = fmt::format("{} colors for {} vertices", mesh.colors.count, mesh.vertices.count)});
  }
  return mesh;
}

}  // namespace lockstep::tensorboard
