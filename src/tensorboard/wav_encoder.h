#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace lockstep::tensorboard {

// A WAV file of 16-bit samples; those of one moment, one for each channel, lie together.
std::string encode_wav(std::span<const std::int16_t> samples, int channels, int sample_rate);

}  // namespace lockstep::tensorboard
