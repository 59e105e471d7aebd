// The files beside this one that are part of the page; cmake/EmbedText.cmake makes strings of them.
#pragma once
#include <string_view>

namespace lockstep::report::embedded {

extern const std::string_view page_html, page_css, plot_css, plot_js, page_js;

}  // namespace lockstep::report::embedded
