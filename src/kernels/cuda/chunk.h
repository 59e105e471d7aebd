// How a batch is divided: its channels into chunks of 128 bytes, its rows into stages, the stages into splits. A block
// of threads has one chunk and one split of the stages.
#pragma once
#include "kernels.h"

#ifdef __CUDACC__
#define LOCKSTEP_ON_BOTH __host__ __device__
#else
#define LOCKSTEP_ON_BOTH
#endif

namespace lockstep::kernels::cuda {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr int kVectors = 8;                 // of a chunk, side by side
constexpr int kRows = kThreads / kVectors;  // of a stage: each thread has one vector of it
constexpr int kStageBytes = kThreads * kVectorBytes;

struct Stages {
  int begin, end;
};

struct Division {
  int rows, channels;  // of all
  int chunks, stages, splits;

  // The stages of a split: as many as those of any other, or one more.
  LOCKSTEP_ON_BOTH Stages of(int split) const {
    const int each = stages / splits, longer = stages % splits;
    const int begin = split * each + (split < longer ? split : longer);
    return {begin, begin + each + (split < longer ? 1 : 0)};
  }
  LOCKSTEP_ON_BOTH int rows_of(Stages part) const {
    const int end = part.end * kRows;
    return (end < rows ? end : rows) - part.begin * kRows;
  }
};

}  // namespace lockstep::kernels::cuda
