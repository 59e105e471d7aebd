// Text made harmless for the places of a page.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace lockstep::report {

// For text and attributes of HTML and SVG. Control characters and bytes that are no UTF-8 are made visible.
std::string escape_markup(std::string_view text);

// For JSON inside of <script>: no '<' is left, so nothing in it can end the element.
std::string escape_script(std::string_view json);

// `text` with each {{name}} replaced by its value. What is put in is not looked at again, whatever it holds.
std::string fill_in(std::string_view text, const std::map<std::string, std::string, std::less<>>& values);

// The first `most` characters, with an ellipsis where there are more.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace lockstep::report
