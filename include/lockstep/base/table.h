// A table that a person reads in a terminal and a program reads as JSON.
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace lockstep {

class Table {
 public:
  struct Column {
    std::string key;    // the name in JSON
    std::string title;  // the heading in the terminal; empty: the key
    int precision = 2;  // digits behind the point of a floating-point cell
  };
  // monostate is an empty cell: blank in the terminal, null in JSON.
  using Cell = std::variant<std::monostate, std::string, std::int64_t, double, bool>;

  explicit Table(std::vector<Column> columns);

  // One cell per column; throws std::invalid_argument otherwise.
  void add_row(std::vector<Cell> cells);

  std::size_t row_count() const { return rows_.size(); }

  // Aligned columns, numbers to the right, one line per row, each line ended. Control characters are escaped.
  std::string to_text() const;

  // An array with one object per row. Numbers stay numbers; infinities and NaN, which JSON lacks, become null.
  std::string to_json() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace lockstep
