#define LOCKSTEP_PIXEL_KERNELS kPixelKernelsBase
#include "pixel_kernels.inc"
