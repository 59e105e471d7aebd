#include "lstm_cell.h"

#include "levels.h"

namespace lockstep::kernels {

const LstmCells* lstm_cells() {
  return best_of(kLstmCellsAvx2, kLstmCellsAvx512);
}

}  // namespace lockstep::kernels
