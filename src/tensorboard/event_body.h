#pragma once
#include <string>

namespace lockstep::tensorboard {

// An event without its time and step, as protobuf writes it; those come behind it, where protobuf takes them as well.
// Files that include libtorch's headers see no other form of an event: libtorch brings headers of an older protobuf.
struct EventBody {
  std::string bytes;
};

}  // namespace lockstep::tensorboard
