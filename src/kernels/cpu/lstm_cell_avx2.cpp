#define LOCKSTEP_LSTM_CELLS kLstmCellsAvx2
#include "lstm_cell.inc"
