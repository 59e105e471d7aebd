// The script that measures PyTorch; cmake/EmbedText.cmake makes a string of it.
#pragma once
#include <string_view>

namespace lockstep::bench::embedded {

extern const std::string_view compare_peer_py;

}  // namespace lockstep::bench::embedded
