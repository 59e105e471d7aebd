#define LOCKSTEP_POOL_LEVEL kPoolAvx2
#include "pool_kernels.inc"
