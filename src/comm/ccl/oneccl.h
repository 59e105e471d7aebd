#pragma once

namespace lockstep::comm::ccl {

// Starts oneCCL, once in a process: later calls do nothing. Throws UsageError when libfabric is not there.
void start_oneccl(bool one_node);

}  // namespace lockstep::comm::ccl
