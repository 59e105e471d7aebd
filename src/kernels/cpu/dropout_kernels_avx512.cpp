#define LOCKSTEP_DROPOUT_LEVEL kDropoutAvx512
#include "dropout_kernels.inc"
