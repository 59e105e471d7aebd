#include <lockstep/data/csv.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>

#include "numbers.h"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kMaxFile = std::uint64_t{4} << 30;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// What is not finite as a float is no number to train with.
std::optional<float> finite(std::string_view text) {
  const std::optional<double> value = number_in<double>(text);
  if (!value || !std::isfinite(static_cast<float>(*value))) return std::nullopt;
  return static_cast<float>(*value);
}

class Reader {
 public:
  Reader(std::string_view content, const std::string& name, const CsvOptions& options)
      : rest_(content), name_(name), options_(options) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  CsvTable read() {
    if (!next_line()) throw bad("has no line");
    const std::size_t columns = fields_.size();
    if (is_header()) {
      header_.assign(fields_.begin(), fields_.end());
      if (!next_line()) throw bad("has a header and nothing else");
    }
    label_ = find_label(columns);
    CsvTable table;
    table.width = static_cast<std::int64_t>(columns - (label_ == kNone ? 0 : 1));
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (i != label_) table.columns.push_back(header_[i]);
    }
    do {
      if (fields_.size() != columns) {
        throw bad("has a line with another number of fields than the first", std::to_string(fields_.size()),
                  std::to_string(columns));
      }
      for (std::size_t i = 0; i < columns; ++i) append_field(i, table);
      ++table.rows;
    } while (next_line());
    return table;
  }

 private:
  bool is_header() const {
    if (options_.header != CsvHeader::kAuto) return options_.header == CsvHeader::kPresent;
    return std::none_of(fields_.begin(), fields_.end(), [](const std::string& f) { return number_in<double>(f); });
  }

  std::size_t find_label(std::size_t columns) const {
    if (options_.label.empty()) return kNone;
    const auto named = std::find(header_.begin(), header_.end(), options_.label);
    if (named != header_.end()) return static_cast<std::size_t>(named - header_.begin());
    const std::optional<std::size_t> place = number_in<std::size_t>(options_.label);
    if (place && *place < columns) return *place;
    throw UsageError({.message = fmt::format("'{}' has no column for labels '{}'{}", name_, options_.label,
                                             did_you_mean(options_.label, header_)),
                      .expected = fmt::format("a name from its header, or 0 to {}", columns - 1)});
  }

  void append_field(std::size_t i, CsvTable& table) {
    if (fields_[i].empty()) throw bad_field(i, "misses a value");
    if (i == label_) {
      const std::optional<std::int64_t> label = number_in<std::int64_t>(fields_[i]);
      if (!label) throw bad_field(i, "has a label that is no integer");
      table.labels.push_back(*label);
    } else {
      const std::optional<float> value = finite(fields_[i]);
      if (!value) throw bad_field(i, "has a value that is no finite number");
      table.values.push_back(*value);
    }
  }

  // Puts the fields of the next line that is not empty into `fields_`; false at the end.
  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t length = rest_.substr(0, options_.max_line + 1).find('\n');
      ++line_;
      if (length == std::string_view::npos && rest_.size() > options_.max_line) {
        throw bad("has too long a line", "", fmt::format("at most {} bytes", options_.max_line));
      }
      std::string_view line = rest_.substr(0, length);
      rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (trimmed(line).empty()) continue;
      split_line(line);
      return true;
    }
    return false;
  }

  void split_line(std::string_view line) {
    fields_.clear();
    for (bool more = true; more;) {
      const std::size_t quote = line.find_first_not_of(" \t");
      if (quote != std::string_view::npos && line[quote] == '"') {
        line.remove_prefix(quote + 1);
        fields_.push_back(quoted(line));
        more = line.starts_with(options_.separator);
        if (!more && !line.empty()) throw bad("has text after a closing quote");
        line.remove_prefix(more ? 1 : 0);
      } else {
        const std::size_t end = line.find(options_.separator);
        fields_.emplace_back(trimmed(line.substr(0, end)));
        more = end != std::string_view::npos;
        line.remove_prefix(more ? end + 1 : line.size());
      }
    }
  }

  // Takes a field and its closing quote off `line`.
  std::string quoted(std::string_view& line) const {
    std::string field;
    for (;;) {
      const std::size_t end = line.find('"');
      if (end == std::string_view::npos) throw bad("has a quote that is not closed in its line");
      field += line.substr(0, end);
      line.remove_prefix(end + 1);
      if (!line.starts_with('"')) break;
      field += '"';
      line.remove_prefix(1);
    }
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return std::string(trimmed(field));
  }

  UsageError bad(const std::string& what, std::string found = "", std::string expected = "") const {
    return UsageError({.message = fmt::format("'{}', line {}: {}", name_, line_, what),
                       .found = std::move(found),
                       .expected = std::move(expected)});
  }

  UsageError bad_field(std::size_t i, const std::string& what) const {
    const std::string column = i < header_.size() ? fmt::format("{} ('{}')", i, header_[i]) : std::to_string(i);
    return UsageError({.message = fmt::format("'{}', line {}, column {}: {}", name_, line_, column, what),
                       .found = fields_[i].substr(0, 80)});
  }

  std::string_view rest_;
  const std::string& name_;
  const CsvOptions& options_;
  std::int64_t line_ = 0;
  std::size_t label_ = kNone;
  std::vector<std::string> header_, fields_;
};

}  // namespace

CsvTable parse_csv(std::string_view content, const std::string& name, const CsvOptions& options) {
  return Reader(content, name, options).read();
}

CsvTable read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  return parse_csv(files::read(path, kMaxFile), path.string(), options);
}

}  // namespace lockstep::data
