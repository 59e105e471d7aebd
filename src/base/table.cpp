#include <lockstep/base/table.h>

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/text.h>

namespace lockstep {
namespace {

std::string cell_text(const Table::Cell& cell, int precision) {
  if (const auto* text = std::get_if<std::string>(&cell)) return escape_controls(*text);
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return format_count(*number);
  if (const auto* number = std::get_if<double>(&cell)) return fmt::format("{:.{}f}", *number, precision);
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "yes" : "no";
  return "";
}

nlohmann::json cell_json(const Table::Cell& cell) {
  return std::visit(
      [](const auto& value) -> nlohmann::json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      cell);
}

bool is_number(const Table::Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<double>(cell);
}

// Columns on the screen: continuation bytes of UTF-8 take none.
std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) {
    if (column.title.empty()) column.title = column.key;
  }
}

void Table::add_row(std::vector<Cell> cells) {
  if (cells.size() != columns_.size()) {
    throw std::invalid_argument(fmt::format("a row of {} cells for {} columns", cells.size(), columns_.size()));
  }
  rows_.push_back(std::move(cells));
}

std::string Table::to_text() const {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns_) lines[0].push_back(column.title);
  for (const auto& row : rows_) {
    auto& line = lines.emplace_back();
    for (std::size_t i = 0; i < columns_.size(); ++i) line.push_back(cell_text(row[i], columns_[i].precision));
  }
  std::vector<std::size_t> widths(columns_.size());
  std::vector<bool> to_the_right(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (const auto& line : lines) widths[i] = std::max(widths[i], display_width(line[i]));
    to_the_right[i] = std::any_of(rows_.begin(), rows_.end(), [i](const auto& row) { return is_number(row[i]); });
  }
  std::string text;
  for (const auto& line : lines) {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string padding(widths[i] - display_width(line[i]), ' ');
      if (i > 0) out += "  ";
      out += to_the_right[i] ? padding + line[i] : line[i] + padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  }
  return text;
}

std::string Table::to_json() const {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const auto& row : rows_) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < columns_.size(); ++i) object[columns_[i].key] = cell_json(row[i]);
    array.push_back(std::move(object));
  }
  // Text that is not UTF-8 (a file name may be anything) is replaced, not thrown over.
  return array.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace lockstep
