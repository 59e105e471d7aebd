#define LOCKSTEP_BATCH_NORM_KERNELS kBatchNormKernelsAvx2
#include "batch_norm_kernels.inc"
