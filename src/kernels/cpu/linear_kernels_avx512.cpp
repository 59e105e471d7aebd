#define LOCKSTEP_LINEAR_KERNELS kLinearKernelsAvx512
#include "linear_kernels.inc"
