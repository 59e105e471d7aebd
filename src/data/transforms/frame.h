// Crops, a resize and flips that follow each other, as one step: which part of a picture is made larger or smaller, and
// which window of the result is kept.
#pragma once
#include <lockstep/data/operation.h>

namespace lockstep::data {

class Frame {
 public:
  // The whole picture as it is.
  explicit Frame(ImageSize picture);

  // Adds an operation after those that it holds already. False, with nothing changed, when the two are not one step.
  bool join(const Crop& crop);
  bool join(const Scale& scale);
  bool join(const Flip& flip);

  ImageSize size() const { return {window_.width, window_.height}; }

  bool resizes() const { return scaled_ != ImageSize{source_.width, source_.height}; }
  // Whether it changes nothing at all.
  bool is_whole() const;

  const Region& source() const { return source_; }  // of the picture; nothing beyond it is looked at
  ImageSize scaled() const { return scaled_; }      // what it becomes
  const Region& window() const { return window_; }  // of that; what lies beyond it is filled
  Region inner() const;                             // the window without what is filled; may be empty
  bool mirrored() const { return mirrored_; }       // left and right
  bool upended() const { return upended_; }         // top and bottom
  const Fill& fill() const { return fill_; }

  // The part of the picture that its pixels are made from, and by how much it may be decoded smaller: as long as it is
  // at least as large as what it becomes.
  Region needed() const;
  int shrink() const;

 private:
  ImageSize picture_;
  Region source_;
  ImageSize scaled_;
  Region window_;
  bool mirrored_ = false, upended_ = false;
  Fill fill_{};
};

}  // namespace lockstep::data
