#define LOCKSTEP_WINOGRAD kWinogradAvx2
#include "winograd.inc"
