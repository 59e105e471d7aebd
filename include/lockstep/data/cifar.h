// CIFAR-10 and CIFAR-100: 60,000 pictures of 32 x 32 pixels, in the files that their authors give out.
#pragma once
#include <filesystem>

#include <lockstep/data/pixel_set.h>
#include <lockstep/data/split.h>

namespace lockstep::data {

// CIFAR-100's pictures have two labels: one of 100 classes, and one of 20 classes of these.
enum class CifarLabels { kFine, kCoarse };

// Read the binary form (cifar-10-batches-bin, cifar-100-binary) or that of the Python archive (cifar-10-batches-py,
// cifar-100-python): `folder` is one of these, or the folder that holds one; when both are there the binary form is
// taken. Nothing that the Python files hold is executed.
//
// The set keeps 3,072 bytes a picture. Throws UsageError that names the file that is missing, truncated, or not what it
// should be.
PixelSet read_cifar10(const std::filesystem::path& folder, Split split);
PixelSet read_cifar100(const std::filesystem::path& folder, Split split, CifarLabels labels = CifarLabels::kFine);

}  // namespace lockstep::data
