#define LOCKSTEP_PRODUCTS kProductsAvx2
#include "products.inc"
