#pragma once

namespace lockstep::data {

// The part of a data set that its authors set aside for training, and the one for testing.
enum class Split { kTrain, kTest };

}  // namespace lockstep::data
