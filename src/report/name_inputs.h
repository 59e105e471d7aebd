#pragma once
#include <vector>

#include <lockstep/report/data.h>

namespace lockstep::report {

// Names each input by the end of its path, as short as tells it from the others: "a", or "monday/a" and "tuesday/a".
void name_inputs(std::vector<Input>& inputs);

}  // namespace lockstep::report
