#define LOCKSTEP_POOL_LEVEL kPoolAvx512
#include "pool_kernels.inc"
