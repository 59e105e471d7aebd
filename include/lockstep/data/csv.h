// Tables of numbers in text, for sets that are no pictures.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

enum class CsvHeader {
  kAuto,     // the first line is one when none of its fields is a number
  kPresent,  // the first line is one
  kAbsent,
};

struct CsvOptions {
  CsvHeader header = CsvHeader::kAuto;
  std::string label;  // the label's column: its name in the header, or its place from 0; empty: there is none
  char separator = ',';
  std::size_t max_line = std::size_t{1} << 20;  // bytes of a line
};

struct CsvTable {
  std::vector<std::string> columns;  // the names of the columns of `values`; empty without a header
  std::int64_t rows = 0, width = 0;
  std::vector<float> values;         // rows x width, without the labels
  std::vector<std::int64_t> labels;  // as many as rows, or none
};

// Reads a file of at most 4 GiB. Fields may stand in double quotes, in which two stand for one; lines end in LF or
// CRLF; empty lines are passed over. Numbers are read the same whatever the locale, and labels are integers. Throws
// UsageError with the file, the line and the column for anything else: a field that is missing or no finite number, a
// line with more or fewer fields than the first, a quote that is not closed, a line that is too long.
CsvTable read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

// The same from a file's content in memory; `name` is for the errors.
CsvTable parse_csv(std::string_view content, const std::string& name, const CsvOptions& options = {});

}  // namespace lockstep::data
