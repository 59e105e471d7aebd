// Names and texts as TensorBoard can show them.
#pragma once
#include <string>
#include <string_view>

namespace lockstep::tensorboard {

// Which characters a tag keeps; all others become "_".
enum class TagCharacters {
  kName,       // of ASCII: letters, digits and - / . _; and all that is not ASCII. Slashes in front go
  kPrintable,  // all but control characters
};

// The tag as it is written. tensorboardX cleans the tags of scalars, histograms, images and videos to kName, and leaves
// the others alone; kPrintable keeps those so, but for what would make TensorBoard's pages unreadable. Throws
// UsageError when it is empty or longer than 4,096 bytes.
std::string clean_tag(std::string_view tag, TagCharacters characters);

// A text of any length. Control characters but tabs and ends of lines, and bytes that are not UTF-8, become "?":
// TensorBoard's server refuses the whole page otherwise.
std::string clean_text(std::string_view text);

}  // namespace lockstep::tensorboard
