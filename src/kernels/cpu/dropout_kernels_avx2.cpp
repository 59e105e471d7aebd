#define LOCKSTEP_DROPOUT_KERNELS kDropoutKernelsAvx2
#include "dropout_kernels.inc"
