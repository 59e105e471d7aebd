#define LOCKSTEP_BATCH_NORM_LEVEL kBatchNormAvx512
#include "batch_norm_kernels.inc"
