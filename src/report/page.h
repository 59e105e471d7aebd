#pragma once
#include <map>
#include <string>
#include <string_view>

namespace lockstep::report {

// `text` with each {{name}} replaced by its value. What is put in is not looked at again, whatever it holds.
std::string fill_in(std::string_view text, const std::map<std::string, std::string, std::less<>>& values);

}  // namespace lockstep::report
