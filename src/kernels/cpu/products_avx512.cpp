#define LOCKSTEP_PRODUCTS kProductsAvx512
#include "products.inc"
