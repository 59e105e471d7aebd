#include "event.pb.h"
#include "tensorboard/event_reader.h"
#include "tensorboard/record.h"

// The first byte says whether the rest is a file, or a record that gets the checksums which no fuzzer would hit upon.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::tensorboard;
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) {
    std::string framed;
    append_record(framed, file);
    file = framed;
  }
  const EventFileContent content = parse_events(std::as_bytes(std::span(file)));
  if (content.whole_bytes > file.size()) __builtin_trap();
  if (content.problem.empty() != (content.whole_bytes == file.size())) __builtin_trap();
  for (const proto::Event& event : content.events) {
    proto::Event again;
    if (!again.ParseFromString(event.SerializeAsString())) __builtin_trap();
  }
  return 0;
}
