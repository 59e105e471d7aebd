#include "wav_encoder.h"

#include <bit>

namespace lockstep::tensorboard {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename Number>
void append(std::string& file, Number number) {
  file.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

}  // namespace

std::string encode_wav(std::span<const std::int16_t> samples, int channels, int sample_rate) {
  const auto data_bytes = static_cast<std::uint32_t>(samples.size_bytes());
  const auto frame_bytes = static_cast<std::uint16_t>(2 * channels);
  std::string file = "RIFF";
  append(file, 36 + data_bytes);
  file += "WAVEfmt ";
  append(file, std::uint32_t{16});  // the length of what follows, up to "data"
  append(file, std::uint16_t{1});   // PCM
  append(file, static_cast<std::uint16_t>(channels));
  append(file, static_cast<std::uint32_t>(sample_rate));
  append(file, static_cast<std::uint32_t>(sample_rate) * frame_bytes);
  append(file, frame_bytes);
  append(file, std::uint16_t{16});  // bits of a sample
  file += "data";
  append(file, data_bytes);
  file.append(reinterpret_cast<const char*>(samples.data()), samples.size_bytes());
  return file;
}

}  // namespace lockstep::tensorboard
