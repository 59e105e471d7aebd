#define LOCKSTEP_BATCH_NORM_KERNELS kBatchNormKernelsAvx512
#include "batch_norm_kernels.inc"
