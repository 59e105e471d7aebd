#define LOCKSTEP_BATCH_NORM_LEVEL kBatchNormAvx2
#include "batch_norm_kernels.inc"
