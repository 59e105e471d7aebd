#define LOCKSTEP_POOL_KERNELS kPoolKernelsAvx2
#include "pool_kernels.inc"
