// Makes the rows of a Frame, one after the other, and hands them to whoever wants them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <lockstep/data/decode.h>

#include "filter_table.h"
#include "frame.h"
#include "pixel_kernels.h"

namespace lockstep::data {

// Pixels of somebody else: `region` of a picture at 1 / shrink of its size.
struct PixelView {
  const std::uint8_t* pixels = nullptr;
  ImageSize size;
  int channels = 3;
  Region region;
  int shrink = 1;

  std::size_t row_bytes() const { return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(channels); }
  std::size_t bytes() const { return row_bytes() * static_cast<std::size_t>(size.height); }
  const std::uint8_t* row(int y) const { return pixels + static_cast<std::size_t>(y) * row_bytes(); }
};

// Takes the rows of a frame in any order. A row is valid during the call only.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void put(int y, const std::uint8_t* row) = 0;
};

struct RenderMemory {
  FilterTable columns, rows;
  std::vector<std::uint8_t> resampled;  // rows of the right width, not yet of the right number
  std::vector<std::uint8_t> row;        // one row of the result
  std::vector<std::uint8_t> last_row;   // a copy of a source row with room after it
};

// `view` holds at least what the frame needs.
void render(const PixelView& view, const Frame& frame, const PixelKernels& kernels, RenderMemory& memory,
            RowSink& sink);

}  // namespace lockstep::data
