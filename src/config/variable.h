// Between values of a config and variables of a program.
#pragma once
#include <string>

#include <lockstep/config/schema.h>

namespace lockstep::config {

// Throws UsageError that names `path` and the place of the value.
void read_into(const Schema::Variable& variable, const Value& value, const std::string& path,
               const KeyOptions& options);

// Its value as YAML.
std::string show(const Schema::Variable& variable);

// "a whole number of at least 1", for people.
std::string describe_type(const Schema::Variable& variable, const KeyOptions& options);

}  // namespace lockstep::config
