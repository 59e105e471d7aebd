#include "pack_options.h"

#include <algorithm>

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/base/text.h>

namespace lockstep::app {

std::vector<CLI::Option*> add_pack_options(CLI::App& verb, PackWords& words) {
  std::vector<CLI::Option*> options;
  const auto in_group = [&](const char* group, CLI::Option* option) {
    option->group(group);
    options.push_back(option);
  };
  constexpr const char *kWhat = "What goes in", *kBad = "Bad pictures", *kHow = "How";
  in_group(kWhat,
           verb.add_option("--size", words.size, "Make the shorter side N pixels (default: the files as they are)")
               ->type_name("N")
               ->check(CLI::Range(1, 8192)));
  CLI::Option* jpeg = verb.add_flag("--jpeg", words.jpeg, "Encode as JPEG again (the default with --size)");
  in_group(kWhat, jpeg);
  in_group(kWhat,
           verb.add_flag("--raw", words.raw, "Store pixels: larger, and nothing is left to decode")->excludes(jpeg));
  in_group(kWhat,
           verb.add_option("--quality", words.quality, "Of --jpeg (92)")->type_name("Q")->check(CLI::Range(1, 100)));
  in_group(kWhat, verb.add_flag("--unchecked", words.unchecked, "Do not try to decode what goes in as it is"));
  in_group(kBad, verb.add_option("--on-error", words.on_error, "stop (the default), or skip and name them at the end")
                     ->type_name("KIND")
                     ->check(CLI::IsMember({"stop", "skip"})));
  in_group(kBad,
           verb.add_option("--max-bad", words.max_bad, "How many may be skipped (100)")->check(CLI::Range(0, 1 << 30)));
  in_group(kHow, verb.add_option("--workers", words.workers, "Threads that read and encode (default: one for each CPU)")
                     ->check(CLI::Range(1, 1024)));
  in_group(kHow, verb.add_flag("--replace", words.replace, "Replace a packed file that exists"));
  return options;
}

data::PackOptions PackWords::options() const {
  using Form = data::PackOptions::Form;
  data::PackOptions options{.quality = quality, .workers = workers, .check = !unchecked, .replace = replace};
  if (size > 0) options.size = size;
  if (raw) {
    options.form = Form::kPixels;
  } else if (jpeg || size > 0) {
    options.form = Form::kJpeg;
  }
  if (on_error == "skip") options.most_bad = max_bad;
  return options;
}

void print_packed(const data::PackResult& result, const std::string& target) {
  fmt::print("packed {} into {}, {}\n", format_plural(result.samples, "picture"), escape_controls(target),
             format_bytes(result.bytes));
  if (result.left_out.empty()) return;
  fmt::print("left out {}:\n", format_plural(std::ssize(result.left_out), "bad picture"));
  for (const data::LeftOut& bad : result.left_out) {
    fmt::print("  {}: {}\n", escape_controls(bad.name), escape_controls(bad.reason));
  }
}

void PackBar::update(std::int64_t done, std::int64_t total, std::uint64_t bytes) {
  const auto now = std::chrono::steady_clock::now();
  if (!line_) {
    line_.emplace(title_, total, true, std::chrono::seconds(10));
    started_ = now;
    first_ = done;
  }
  const double seconds = std::max(std::chrono::duration<double>(now - started_).count(), 1e-3);
  const auto rate = static_cast<std::int64_t>(static_cast<double>(done - first_) / seconds);
  details_ = fmt::format("{} pictures/s  {}", format_count(rate), format_bytes(bytes));
  line_->update(done, details_);
}

void PackBar::finish() {
  if (line_) line_->finish(details_);
}

}  // namespace lockstep::app
