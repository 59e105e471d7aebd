#define LOCKSTEP_POOL_KERNELS kPoolKernelsAvx512
#include "pool_kernels.inc"
