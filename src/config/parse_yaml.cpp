#include <lockstep/config/value.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::config {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kMostLevels = 32;
constexpr std::size_t kMostValues = 20'000;

// UTF-8 without zero bytes. yaml-cpp would take UTF-16 and UTF-32 too, and let bytes through that are none of them.
bool is_text(const std::string& text) {
  if (text.find('\0') != std::string::npos) return false;
  try {
    std::ignore = nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// Of maps and lists, one inside the other.
std::size_t levels_of(const Value& value) {
  std::size_t deepest = 0;
  for (const Value& item : value.items) deepest = std::max(deepest, levels_of(item));
  for (const Entry& entry : value.entries) deepest = std::max(deepest, levels_of(entry.value));
  const bool holds = value.kind == Value::Kind::kList || value.kind == Value::Kind::kMap;
  return deepest + (holds ? 1 : 0);
}

// Builds the tree from the parser's events, so that limits hold while it is read. yaml-cpp's own tree would share what
// aliases repeat, and grow without bounds for whoever walks through it.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& source) : source_(source) {}

  Value take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add({.place = at(mark)}, anchor); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    refuse_tag(mark, tag);
    const bool quoted = tag == "!";
    // What YAML 1.2 calls null; yaml-cpp leaves it to its own tree.
    const bool null = !quoted && (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
    if (null) {
      add({.place = at(mark)}, anchor);
    } else {
      add({.kind = Value::Kind::kScalar, .text = text, .quoted = quoted, .place = at(mark)}, anchor);
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    refuse_tag(mark, tag);
    open({.kind = Value::Kind::kList, .place = at(mark)}, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    refuse_tag(mark, tag);
    open({.kind = Value::Kind::kMap, .place = at(mark)}, anchor);
  }
  void OnMapEnd() override { close(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) throw wrong(at(mark), "an alias inside of what it names");
    count(found->second.size, at(mark));
    if (open_.size() + levels_of(found->second.value) > kMostLevels) throw too_deep(at(mark));
    add_counted(found->second.value, at(mark));
  }

 private:
  // A map or list that is being read.
  struct Open {
    Value value;
    YAML::anchor_t anchor;
    std::size_t values_before;
    bool has_key = false;  // of a map: a key waits for its value
    std::string key = {};
    Place key_place = {};
  };
  struct Anchored {
    Value value;
    std::size_t size;
  };

  Place at(const YAML::Mark& mark) const { return {source_, mark.line + 1}; }

  static UsageError wrong(const Place& place, const std::string& what) {
    return UsageError(fmt::format("{}: {}", place.text(), what));
  }

  static UsageError too_deep(const Place& place) {
    return wrong(place, fmt::format("more than {} levels", kMostLevels));
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!")
      throw wrong(at(mark), fmt::format("the tag '{}' is not known here", tag));
  }

  void count(std::size_t values, const Place& place) {
    values_ += values;
    if (values_ > kMostValues) throw wrong(place, fmt::format("more than {} values", format_count(kMostValues)));
  }

  void open(Value value, YAML::anchor_t anchor) {
    if (open_.size() >= kMostLevels) throw too_deep(value.place);
    if (!open_.empty() && open_.back().value.kind == Value::Kind::kMap && !open_.back().has_key) {
      throw wrong(value.place, "a key must be a word, not a list or a map");
    }
    count(1, value.place);
    open_.push_back({.value = std::move(value), .anchor = anchor, .values_before = values_ - 1});
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    if (closed.anchor != 0) anchored_[closed.anchor] = {closed.value, values_ - closed.values_before};
    const Place place = closed.value.place;
    add_counted(std::move(closed.value), place);
  }

  void add(Value value, YAML::anchor_t anchor) {
    count(1, value.place);
    if (anchor != 0) anchored_[anchor] = {value, 1};
    const Place place = value.place;
    add_counted(std::move(value), place);
  }

  void add_counted(Value value, const Place& place) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (parent.value.kind == Value::Kind::kList) {
      parent.value.items.push_back(std::move(value));
    } else if (parent.has_key) {
      parent.value.entries.push_back({std::move(parent.key), std::move(parent.key_place), std::move(value)});
      parent.has_key = false;
    } else {
      take_key(parent, value, place);
    }
  }

  static void take_key(Open& parent, const Value& value, const Place& place) {
    if (value.kind != Value::Kind::kScalar)
      throw wrong(place, fmt::format("a key must be a word, not {}", describe(value)));
    for (const Entry& entry : parent.value.entries) {
      if (entry.key == value.text) {
        throw wrong(place, fmt::format("the key '{}' is there already, in line {}", value.text, entry.place.line));
      }
    }
    parent.has_key = true;
    parent.key = value.text;
    parent.key_place = place;
  }

  const std::string source_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchored_;
  std::size_t values_ = 0;
  Value root_;
};

}  // namespace

Value parse_yaml(const std::string& text, const std::string& source) {
  if (text.size() > kMostBytes) {
    throw UsageError({.message = fmt::format("{} is too large for a config", source),
                      .found = format_bytes(text.size()),
                      .expected = fmt::format("at most {}", format_bytes(kMostBytes))});
  }
  if (!is_text(text)) throw UsageError({.message = fmt::format("{} is no text", source), .expected = "UTF-8"});
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    Builder builder(source);
    parser.HandleNextDocument(builder);
    Builder second(source);
    if (parser.HandleNextDocument(second)) {
      throw UsageError(
          {.message = fmt::format("{} has more than one document", source), .next = "leave the lines '---' out"});
    }
    return builder.take();
  } catch (const YAML::Exception& error) {
    throw UsageError(
        fmt::format("{}: {}", Place{source, error.mark.is_null() ? 0 : error.mark.line + 1}.text(), error.msg));
  }
}

}  // namespace lockstep::config
