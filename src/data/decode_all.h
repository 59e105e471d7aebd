#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include <lockstep/data/decoded_pictures.h>
#include <lockstep/data/pipeline.h>

namespace lockstep::data {

struct AllDecoded {
  // Of a picture that could not be read, and of the one that takes its place.
  struct StandIn {
    std::int64_t bad = 0, good = 0;
  };
  std::vector<std::int64_t> labels;  // those of stand-ins in the places of the bad
  std::vector<StandIn> stand_ins;
};

// What is done to each picture. Many threads call it at once, each with a Scratch of its own.
using DecodePicture = std::function<void(std::int64_t index, const Picture& picture, Pipeline::Scratch& scratch)>;

// Calls `decode` for all pictures of a set, by as many threads as options say. Throws as decoded_in_memory, and what
// `decode` throws; SampleError from it needs no name. What stands in for a bad picture is copied by the caller.
AllDecoded decode_all(const PictureSet& pictures, const DecodingOptions& options, const DecodePicture& decode);

}  // namespace lockstep::data
