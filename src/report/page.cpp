// The page: what is drawn, with tables under it, in the frame of page.html.
#include <array>
#include <ctime>

#include <fmt/format.h>
#include <openssl/evp.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/base/version.h>
#include <lockstep/report/report.h>

#include "draw.h"
#include "embedded.h"
#include "markup.h"
#include "palette.h"
#include "tables.h"

namespace lockstep::report {
namespace {

std::string cells(const std::vector<std::string>& row, const char* tag) {
  std::string text;
  for (const std::string& cell : row) text += fmt::format("<{0}>{1}</{0}>", tag, escape_markup(cell));
  return text;
}

std::string table_html(const TextTable& table) {
  std::string text = "<div class=\"scroll\"><table><thead><tr>" + cells(table.head, "th") + "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const bool is_marked = i < table.marked.size() && table.marked[i];
    text += (is_marked ? "<tr class=\"differs\">" : "<tr>") + cells(table.rows[i], "td") + "</tr>\n";
  }
  return text + "</tbody></table></div>";
}

constexpr const char* kCopy = "<button type=\"button\" class=\"copy\">copy</button>";

// Figures with their charts collected in `charts`, for the script.
class Figures {
 public:
  std::string html(const std::vector<Figure>& figures) {
    std::string text = "<div class=\"figures\">";
    for (const Figure& figure : figures) text += figure_html(figure);
    return text + "</div>";
  }
  std::string charts() const { return "{" + charts_ + "}"; }

 private:
  std::string figure_html(const Figure& figure) {
    std::string text = fmt::format(R"(<figure id="{}"><figcaption><h3>{}</h3>)", escape_markup(figure.id),
                                   escape_markup(figure.title));
    if (!figure.caption.empty()) text += fmt::format("<p>{}</p>", escape_markup(figure.caption));
    text += "</figcaption>";
    for (std::size_t i = 0; i < figure.views.size(); ++i) text += view_html(figure, figure.views[i], i == 0);
    text += fmt::format("<details><summary>numbers {}</summary>{}</details></figure>\n", kCopy,
                        table_html(table_of(figure.views.front().chart)));
    return text;
  }

  std::string view_html(const Figure& figure, const View& view, bool is_first) {
    const std::string id = view.name.empty() ? figure.id : figure.id + "/" + view.name;
    const Drawing drawing = draw(view.chart);
    if (!drawing.hover.empty()) {
      charts_ += fmt::format("{}\"{}\":{}", charts_.empty() ? "" : ",\n", id, drawing.hover);
    }
    return fmt::format(
        R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}" data-chart="{}" data-view="{}"{}{}>{}</svg>)",
        kPlotWidth, drawing.height, escape_markup(figure.title + (view.name.empty() ? "" : " over " + view.name)), id,
        view.name, drawing.hover.empty() ? "" : " tabindex=\"0\"", is_first ? "" : " class=\"off\"", drawing.content);
  }

  std::string charts_;
};

std::string section(const char* id, const char* title, const std::string& content) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2>{}</section>\n", id, title, content);
}

std::string notes_html(const Data& data) {
  if (data.notes.empty()) return "";
  std::string text = "<aside class=\"notes\"><h2>Notes</h2><ul>";
  for (const std::string& note : data.notes) text += "<li>" + escape_markup(note) + "</li>";
  return text + "</ul></aside>\n";
}

std::string legend_html(const Data& data) {
  std::string text;
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    text += fmt::format(
        R"(<button type="button" class="chip" data-toggle="{}" aria-pressed="true" title="{}"><i class="{}"></i>{}</button>)",
        i, escape_markup(data.inputs[i].path.string()), colour_class(i), escape_markup(data.inputs[i].name));
  }
  return text;
}

std::string config_html(const TextTable& table) {
  std::string text =
      table.head.size() > 2
          ? "<label class=\"choice\"><input type=\"checkbox\" id=\"only-differences\"> only what differs</label>"
          : "";
  return fmt::format("<div class=\"block\">{}{}{}</div>", text, kCopy, table_html(table));
}

std::string block(const TextTable& table) {
  return fmt::format("<div class=\"block\">{}{}</div>", kCopy, table_html(table));
}

std::string body_html(const Data& data, Figures& figures) {
  std::string text = notes_html(data);
  if (const TextTable runs = run_table(data); !runs.head.empty()) text += section("runs", "Runs", block(runs));
  const auto add = [&](const char* id, const char* title, const std::vector<Figure>& drawn) {
    if (!drawn.empty()) text += section(id, title, figures.html(drawn));
  };
  add("learning", "Training", learning_figures(data));
  add("ranks", "Scaling", scaling_figures(data));
  add("benchmarks", "Benchmarks", bench_figures(data));
  if (const TextTable config = config_table(data); !config.head.empty()) {
    text += section("configuration", "Configuration", config_html(config));
  }
  if (const TextTable machine = machine_table(data); !machine.head.empty()) {
    text += section("machine", "Machine", block(machine));
  }
  return text;
}

std::string script() {
  return std::string(embedded::plot_js) + std::string(embedded::page_js);
}

// The one script that a browser may run in the page, named by its hash.
std::string script_hash(const std::string& script) {
  constexpr std::size_t kMost = EVP_MAX_MD_SIZE;
  std::array<unsigned char, kMost> digest{};
  std::array<unsigned char, 2 * kMost> base64{};
  unsigned size = 0;
  if (EVP_Digest(script.data(), script.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw RuntimeError("a digest of OpenSSL failed");
  }
  const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return {base64.begin(), base64.begin() + length};
}

// Paper is light, whatever the screen is.
std::string style() {
  return fmt::format(
      ":root{{color-scheme:light;{0}}}\n"
      "@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{1}}}}}\n"
      "@media screen{{:root[data-theme=dark]{{color-scheme:dark;{1}}}}}\n{2}{3}",
      colour_variables(Scheme::kLight), colour_variables(Scheme::kDark), plot_style(), embedded::page_css);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts)};
}

}  // namespace

std::string to_html(const Data& data) {
  Figures figures;
  const std::string body = body_html(data, figures);
  std::vector<std::string> names;
  for (const Input& input : data.inputs) names.push_back(input.name);
  return fill_in(embedded::page_html, {{"title", escape_markup(format_some(names, 3))},
                                       {"hash", script_hash(script())},
                                       {"style", style()},
                                       {"legend", legend_html(data)},
                                       {"body", body},
                                       {"made", escape_markup(fmt::format("lockstep {}, {}", version(), today()))},
                                       {"charts", escape_script(figures.charts())},
                                       {"script", script()}});
}

}  // namespace lockstep::report
