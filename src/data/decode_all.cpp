#include "decode_all.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include <lockstep/base/affinity_mask.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "bad_samples.h"
#include "picture_size.h"

namespace lockstep::data {
namespace {

// What a thread takes at a time.
constexpr std::int64_t kChunk = 32;

int worker_count(const DecodingOptions& options, std::int64_t pictures) {
  const int wanted = options.workers > 0 ? options.workers : std::max(1, AffinityMask::current().count());
  return static_cast<int>(std::min<std::int64_t>(wanted, (pictures + kChunk - 1) / kChunk));
}

class Decoder {
 public:
  Decoder(const PictureSet& pictures, const DecodingOptions& options, const DecodePicture& decode)
      : pictures_(pictures),
        decode_(decode),
        bad_(options.on_error, options.max_bad),
        labels_(static_cast<std::size_t>(pictures.size())) {}

  std::vector<std::int64_t> run(int workers) {
    {
      std::vector<std::jthread> threads;
      const StopAtExit stop{next_, pictures_.size()};  // also when the system does not give so many threads
      for (int i = 1; i < workers; ++i) threads.emplace_back([this] { work(); });
      work();
      for (std::jthread& thread : threads) thread.join();
    }
    if (error_) std::rethrow_exception(error_);
    return std::move(labels_);
  }

  const BadSamples& bad() const { return bad_; }

 private:
  struct StopAtExit {
    std::atomic<std::int64_t>& next;
    std::int64_t end;
    ~StopAtExit() { next = end; }
  };

  // A chunk that was begun is worked on up to its first error, and chunks are taken in order: so the first error of the
  // set is always found.
  void work() {
    Pipeline::Scratch scratch;
    for (std::int64_t first = next_.fetch_add(kChunk); first < pictures_.size(); first = next_.fetch_add(kChunk)) {
      const std::int64_t end = std::min(first + kChunk, pictures_.size());
      for (std::int64_t i = first; i < end; ++i) {
        if (!try_to_decode(i, scratch)) return;
      }
    }
  }

  bool try_to_decode(std::int64_t index, Pipeline::Scratch& scratch) {
    try {
      try {
        decode(index, scratch);
      } catch (const SampleError& error) {
        bad_.add(index, error);
      }
      return true;
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_ || index < error_index_) {
        error_ = std::current_exception();
        error_index_ = index;
      }
      next_ = pictures_.size();
      return false;
    }
  }

  void decode(std::int64_t index, Pipeline::Scratch& scratch) {
    const Picture picture = pictures_.get(index);
    try {
      decode_(index, picture, scratch);
    } catch (const SampleError& error) {
      throw error.of(pictures_.name(index));
    }
    labels_[static_cast<std::size_t>(index)] = picture.label;
  }

  const PictureSet& pictures_;
  const DecodePicture& decode_;
  BadSamples bad_;
  std::vector<std::int64_t> labels_;
  std::atomic<std::int64_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;
  std::int64_t error_index_ = 0;
};

// From the sizes of some pictures, which their headers tell.
void require_room(const PictureSet& pictures, std::uint64_t most_bytes) {
  constexpr std::int64_t kLookedAt = 64;
  const std::int64_t step = std::max<std::int64_t>(1, pictures.size() / kLookedAt);
  double bytes = 0, count = 0;
  for (std::int64_t i = 0; i < pictures.size(); i += step) {
    try {
      const Picture picture = pictures.get(i);
      const ImageSize size = size_of(picture);
      const int channels = picture.form == Picture::Form::kPixels ? picture.channels : 3;
      bytes += static_cast<double>(size.width) * size.height * channels;
      ++count;
    } catch (const SampleError&) {
      continue;  // whether it is to be skipped is decided when it is decoded
    }
  }
  if (count == 0) return;
  bytes *= static_cast<double>(pictures.size()) / count;
  if (bytes <= static_cast<double>(most_bytes)) return;
  throw UsageError({.message = "the pictures do not fit into memory when they are decoded",
                    .found = fmt::format("about {} for {} pictures", format_bytes(static_cast<std::uint64_t>(bytes)),
                                         format_count(pictures.size())),
                    .expected = "at most " + format_bytes(most_bytes),
                    .next = "decode them as they are needed (cache: none)"});
}

}  // namespace

AllDecoded decode_all(const PictureSet& pictures, const DecodingOptions& options, const DecodePicture& decode) {
  const std::int64_t count = pictures.size();
  if (count == 0) throw UsageError("the data set has no pictures");
  if (options.most_bytes > 0) require_room(pictures, options.most_bytes);
  Decoder decoder(pictures, options, decode);
  AllDecoded result{.labels = decoder.run(worker_count(options, count)), .stand_ins = {}};
  if (decoder.bad().count() == count) throw UsageError("no sample of the data set can be read");
  for (std::int64_t bad = 0; decoder.bad().count() > 0 && bad < count; ++bad) {
    if (!decoder.bad().contains(bad)) continue;
    std::int64_t good = bad;
    while (decoder.bad().contains(good)) good = (good + 1) % count;
    result.labels[static_cast<std::size_t>(bad)] = result.labels[static_cast<std::size_t>(good)];
    result.stand_ins.push_back({.bad = bad, .good = good});
  }
  return result;
}

}  // namespace lockstep::data
