#define LOCKSTEP_PIXEL_KERNELS kPixelKernelsAvx2
#include "pixel_kernels.inc"
