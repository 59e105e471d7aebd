#pragma once
#include <unordered_map>

#include <lockstep/base/errors.h>
#include <lockstep/base/pickle.h>

namespace lockstep {

// The machine whose program a pickle is. It works on one stack and one memory, puts what comes into being into its
// pickle, and lives only while that is read.
class PickleMachine {
 public:
  PickleMachine(Pickle& pickle, std::span<const std::byte> content, const PickleOptions& options);

  // Runs to the end of the program; returns the place of what is left on the stack.
  Pickle::Place run();

 private:
  using Kind = Pickle::Kind;
  using Place = Pickle::Place;
  using Value = Pickle::Value;

  bool step();  // false at the end
  bool step_with_strings(std::uint8_t instruction);
  bool step_with_numbers(std::uint8_t instruction);
  bool step_with_memory(std::uint8_t instruction);
  bool step_with_containers(std::uint8_t instruction);
  bool step_with_objects(std::uint8_t instruction);

  void push(Value value);
  void push_place(Place place);
  void push_string(std::size_t length);
  void push_integer(std::int64_t value);
  void push_long(std::size_t length);
  void push_name(std::string_view module, std::string_view name);
  Place pop();
  std::vector<Place> pop_to_mark();
  void push_tuple(std::vector<Place> elements);
  void extend(Kind kind, const std::vector<Place>& elements);
  void call();
  void build();
  void remember(std::uint64_t key);
  void recall(std::uint64_t key);
  void latin1_from_utf8(std::string_view text);

  const Value& at(Place place) const { return pickle_.values_[place]; }
  const Value& string_at(Place place) const;
  std::string_view take(std::size_t length);
  std::string_view take_line();
  std::uint64_t take_number(std::size_t bytes);
  UsageError refuse(const std::string& what, std::string found = "") const;

  Pickle& pickle_;
  const PickleOptions& options_;
  std::string_view content_;
  std::size_t position_ = 0;
  std::size_t decoded_bytes_ = 0;
  std::vector<Place> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::unordered_map<std::uint64_t, Place> memory_;
};

}  // namespace lockstep
