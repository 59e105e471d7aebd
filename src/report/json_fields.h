// Fields of JSON that came from a file: whatever is there, the answer is a number or a text that can be shown.
#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace lockstep::report {

// NaN where there is no such field, or no finite number in it.
double number_in(const nlohmann::json& object, const char* key);

// Empty where there is no such field or no text in it; cut after 200 bytes, at the end of a character.
std::string text_in(const nlohmann::json& object, const char* key);

// The field, or null.
const nlohmann::json& field_in(const nlohmann::json& object, const char* key);

}  // namespace lockstep::report
