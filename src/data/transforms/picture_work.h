// One picture on its way through a pipeline: operations that can be one step are collected, and done when a pixel is
// first needed; until then a JPEG is not even decoded.
#pragma once
#include <lockstep/data/image.h>
#include <lockstep/data/picture.h>

#include "frame.h"
#include "render.h"

namespace lockstep::data {

struct WorkMemory {
  Image decoded, image, spare;
  RenderMemory render;
};

class PictureWork {
 public:
  // `picture` and `memory` must outlive it. Gray pictures become `channels` channels. Throws SampleError for a picture
  // that is bad.
  PictureWork(const Picture& picture, int channels, const DecodeLimits& limits, WorkMemory& memory);

  // Of what there is after all operations so far.
  ImageSize size() const { return frame_.size(); }

  // Any operation but Erase.
  void add(const Operation& operation);

  // Makes the rows of the result.
  void finish(RowSink& sink);

 private:
  template <typename Step>
  void frame(const Step& step);
  void frame(const Crop& crop);
  // Does what is collected, so that all pixels are in memory_.image.
  Image& materialize();
  // Where the pixels of the frame's picture are.
  const PixelView& view();
  void view_image(const Image& image, const Region& region, int shrink);

  const Picture& picture_;
  const DecodeLimits& limits_;
  WorkMemory& memory_;
  Frame frame_;
  PixelView view_;
  bool owned_ = false;  // whether the view is of memory_.image
};

}  // namespace lockstep::data
