#include <lockstep/data/decoded_pictures.h>

#include <span>
#include <utility>

#include "check_index.h"
#include "decode_all.h"
#include "picture_size.h"

namespace lockstep::data {
namespace {

class DecodedPictures final : public PictureSet {
 public:
  DecodedPictures(std::shared_ptr<const PictureSet> source, std::vector<Picture> pictures)
      : source_(std::move(source)), pictures_(std::move(pictures)) {}

  std::int64_t size() const override { return source_->size(); }
  Picture get(std::int64_t index) const override {
    check_index(index, size());
    return pictures_[static_cast<std::size_t>(index)];
  }
  std::string name(std::int64_t index) const override { return source_->name(index); }
  const std::vector<std::string>& classes() const override { return source_->classes(); }

 private:
  std::shared_ptr<const PictureSet> source_;  // for the names, and for pictures that it holds as pixels itself
  std::vector<Picture> pictures_;
};

}  // namespace

std::shared_ptr<const PictureSet> decoded_in_memory(std::shared_ptr<const PictureSet> pictures,
                                                    const DecodingOptions& options) {
  std::vector<Picture> made(static_cast<std::size_t>(pictures->size()));
  const Pipeline pipeline({});
  const auto decode = [&](std::int64_t index, const Picture& picture, Pipeline::Scratch& scratch) {
    Picture& place = made[static_cast<std::size_t>(index)];
    if (picture.form == Picture::Form::kPixels) {
      place = picture;
      return;
    }
    const ImageSize size = size_of(picture);
    const int channels = pipeline.channels();
    const auto bytes = static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) *
                       static_cast<std::size_t>(channels);
    const auto pixels = std::make_shared_for_overwrite<std::uint8_t[]>(bytes);
    const std::span memory(pixels.get(), bytes);
    pipeline.run(picture, RandomStream(0, 0, 0), scratch, memory);
    place = {.form = Picture::Form::kPixels,
             .bytes = std::as_bytes(memory),
             .owner = pixels,
             .width = size.width,
             .height = size.height,
             .channels = channels};
  };
  const AllDecoded decoded = decode_all(*pictures, options, decode);
  for (const auto& [bad, good] : decoded.stand_ins) {
    made[static_cast<std::size_t>(bad)] = made[static_cast<std::size_t>(good)];
  }
  for (std::size_t i = 0; i < made.size(); ++i) made[i].label = decoded.labels[i];
  return std::make_shared<DecodedPictures>(std::move(pictures), std::move(made));
}

}  // namespace lockstep::data
