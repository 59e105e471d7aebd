// Pictures that are decoded once, not in every epoch.
#pragma once
#include <cstdint>
#include <memory>

#include <lockstep/data/loader.h>
#include <lockstep/data/picture.h>

namespace lockstep::data {

// How all pictures of a set are decoded at once.
struct DecodingOptions {
  int workers = 0;  // threads; 0: as many as the process has cores
  // With kSkip the next readable picture takes a bad one's place, for good.
  OnError on_error = OnError::kStop;
  std::int64_t max_bad = 100;
  std::uint64_t most_bytes =
      0;  // above 0: a set whose pixels take more, as some of its pictures let expect, is refused
};

// The pixels of all pictures, in memory: a Loader makes of them what it would make of `pictures`, without decoding.
// They may differ in size. What is pixels already stays where it is. Throws UsageError for a set that is too large, and
// for bad pictures as a Loader does: the first of them, whatever thread came upon it.
std::shared_ptr<const PictureSet> decoded_in_memory(std::shared_ptr<const PictureSet> pictures,
                                                    const DecodingOptions& options = {});

}  // namespace lockstep::data
