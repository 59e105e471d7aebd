#define LOCKSTEP_LINEAR_KERNELS kLinearKernelsAvx2
#include "linear_kernels.inc"
