#define LOCKSTEP_DROPOUT_LEVEL kDropoutAvx2
#include "dropout_kernels.inc"
