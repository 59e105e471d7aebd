#pragma once
#include <cstddef>

namespace lockstep::comm::local {

// As memcpy, but past the caches, straight into memory. What it wrote is visible to others before any later store.
void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace lockstep::comm::local
