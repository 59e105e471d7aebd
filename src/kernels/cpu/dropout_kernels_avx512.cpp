#define LOCKSTEP_DROPOUT_KERNELS kDropoutKernelsAvx512
#include "dropout_kernels.inc"
