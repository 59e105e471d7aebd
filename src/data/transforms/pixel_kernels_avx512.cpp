#define LOCKSTEP_PIXEL_KERNELS kPixelKernelsAvx512
#include "pixel_kernels.inc"
