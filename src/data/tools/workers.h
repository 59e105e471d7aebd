#pragma once
#include <algorithm>
#include <thread>

namespace lockstep::data {

// `wanted`, or one for each CPU that this process may use.
inline int worker_count(int wanted) {
  return wanted > 0 ? wanted : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace lockstep::data
