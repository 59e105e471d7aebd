#define LOCKSTEP_WINOGRAD kWinogradAvx512
#include "winograd.inc"
