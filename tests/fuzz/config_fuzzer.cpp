#include <lockstep/base/errors.h>
#include <lockstep/config/compose.h>
#include <lockstep/config/schema.h>

namespace {

// Keys of every type, under names that the corpus has.
void read_keys(const lockstep::config::Value& root) {
  bool flag = false;
  std::int64_t count = 0;
  double number = 0;
  std::string text;
  std::optional<double> maybe;
  std::vector<double> numbers;
  std::vector<lockstep::config::Named> things;
  lockstep::config::Schema schema;
  schema.add("flag", &flag, {.meaning = ""});
  schema.add("count", &count, {.meaning = "", .least = 0});
  schema.add("section.number", &number, {.meaning = ""});
  schema.add("section.text", &text, {.meaning = ""});
  schema.add("maybe", &maybe, {.meaning = ""});
  schema.add("numbers", &numbers, {.meaning = ""});
  schema.add("things", &things, {.meaning = ""});
  schema.read(root);
  const std::string written = schema.to_yaml();
  schema.read(lockstep::config::parse_yaml(written, "written"));
  if (schema.to_yaml() != written) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::config;
  try {
    Value root = parse_yaml(std::string(reinterpret_cast<const char*>(data), size), "input");
    const std::string flow = to_flow(root);
    if (to_flow(parse_yaml(flow, "flow")) != flow) __builtin_trap();
    if (root.kind == Value::Kind::kMap) read_keys(root);
  } catch (const lockstep::UsageError&) {
    // What is wrong was said.
  }
  return 0;
}
