#define LOCKSTEP_LSTM_CELLS kLstmCellsAvx512
#include "lstm_cell.inc"
