// A report on training runs and benchmarks: one HTML page that needs nothing else, pictures, or all numbers as JSON.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/report/data.h>

namespace lockstep::report {

// The page. Its plots are complete without its script, which adds what moves. It asks for nothing outside of itself,
// and no text of an input can become code in it.
std::string to_html(const Data& data);

// All numbers that were read, as one JSON value; null where one is not known.
std::string to_json(const Data& data);

// Writes the plots as PNG: a file for each into `target`, a folder that is made if need be, or all on one sheet where
// `target` ends in .png. Returns the files. Runs rsvg-convert; throws RuntimeError when it is missing or fails.
std::vector<std::filesystem::path> write_png(const Data& data, const std::filesystem::path& target);

// Reads `inputs` and writes the page to `file`, whole or not at all. Returns the notes on what was left out. Throws as
// read() and files::write_atomically() do.
std::vector<std::string> write_report(const std::vector<std::filesystem::path>& inputs,
                                      const std::filesystem::path& file);

// For the end of a training, which must not fail for the sake of a page: writes RUN/report.html and returns it. What
// goes wrong is a warning in the log, and nothing is returned.
std::optional<std::filesystem::path> write_run_report(const std::filesystem::path& run);

}  // namespace lockstep::report
