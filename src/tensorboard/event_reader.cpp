#include "event_reader.h"

#include <lockstep/base/files.h>

#include "record.h"

namespace lockstep::tensorboard {

EventFileContent parse_events(std::span<const std::byte> file) {
  EventFileContent content;
  RecordReader records(file);
  while (const auto record = records.next()) {
    proto::Event event;
    if (!event.ParseFromArray(record->data(), static_cast<int>(record->size()))) {
      content.problem = "a record is whole, but no event";
      return content;
    }
    content.events.push_back(std::move(event));
    content.whole_bytes = records.offset();
  }
  content.problem = records.problem();
  return content;
}

EventFileContent read_events(const std::filesystem::path& file) {
  const std::string bytes = files::read(file);
  return parse_events(std::as_bytes(std::span(bytes)));
}

}  // namespace lockstep::tensorboard
