// What profilers (nsys, ncu) and our own timelines (lockstep/trace) show.
#pragma once
#include <optional>
#include <string>

#include <c10/core/Device.h>

#include <lockstep/trace/span.h>

namespace lockstep::gpu {

enum class RangeDetail {
  kOff,
  kSteps,      // the parts of each step, by the names that the program gives them
  kOperators,  // and every operator of libtorch
};

// off, steps or ops; UsageError for another.
RangeDetail parse_range_detail(const std::string& name);

// Marks what a thread does by NVTX ranges. Without a profiler they cost some nanoseconds; switched off, nothing. Where
// the process is being traced, each is a span of that, too, whether NVTX ranges are switched on or off.
class Ranges {
 public:
  struct Options {
    RangeDetail detail = RangeDetail::kOff;
    // The device finishes before a range begins and before it ends, so that a range's length is the time of its work,
    // not of handing it over. Slows training down.
    bool synchronize = false;
    at::Device device = at::kCUDA;
  };

  // From its making to its end.
  class [[nodiscard]] Range {
   public:
    Range(const Ranges& owner, const char* name);
    ~Range();
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

   private:
    const Ranges& owner_;
    std::optional<trace::Span> span_;
  };

  Ranges();  // switched off
  // Throws UsageError where there is no CUDA plugin to carry them. kOperators marks the operators of this thread, and
  // of backward passes that it starts, as long as this object lives.
  explicit Ranges(Options options);
  ~Ranges();
  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;

  // `name` must be a literal.
  Range range(const char* name) const { return {*this, name}; }

 private:
  void finish_work() const;

  Options options_;
};

// While it lives, profilers collect: it is a range named PROFILE, for which
//   nsys profile --capture-range=nvtx --nvtx-capture=PROFILE
// waits, and cudaProfilerStart to cudaProfilerStop, for which nsys --capture-range=cudaProfilerApi and
// ncu --profile-from-start off do. Begins and ends with an idle device.
class ProfiledPart {
 public:
  explicit ProfiledPart(at::Device device);
  ~ProfiledPart();
  ProfiledPart(const ProfiledPart&) = delete;
  ProfiledPart& operator=(const ProfiledPart&) = delete;

 private:
  at::Device device_;
};

}  // namespace lockstep::gpu
