#include <lockstep/base/files.h>
#include <lockstep/base/in_short.h>
#include <lockstep/base/log.h>
#include <lockstep/report/read.h>
#include <lockstep/report/report.h>

namespace lockstep::report {

std::vector<std::string> write_report(const std::vector<std::filesystem::path>& inputs,
                                      const std::filesystem::path& file) {
  const Data data = read(inputs);
  files::write_atomically(file, to_html(data));
  return data.notes;
}

std::optional<std::filesystem::path> write_run_report(const std::filesystem::path& run) {
  try {
    std::filesystem::path file = run / "report.html";
    for (const std::string& note : write_report({run}, file)) log::warning("the report leaves something out: {}", note);
    return file;
  } catch (const std::exception& error) {
    log::warning("the report could not be written: {}", in_short(error));
    return std::nullopt;
  }
}

}  // namespace lockstep::report
