// The flags of a program: `--name VALUE`, `--name=VALUE`, or `--name` alone.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace probe
{

/// Wrong flags: the program ends with exit code 2.
class Usage : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/// What was given. Each flag is asked for by its name; `finish` refuses those that nobody asked for.
class Flags
{
public:
  /// Takes the command line in. `words` are the arguments without the program's name.
  explicit Flags(const std::vector<std::string> & words);

  /// A text that must be given.
  std::string text(const std::string & name);
  /// A text, if it is given.
  std::optional<std::string> text_if(const std::string & name);
  /// One of some words.
  std::string choice(
    const std::string & name, const std::vector<std::string> & words,
    const std::optional<std::string> & otherwise = std::nullopt);
  /// A whole number within bounds.
  std::uint64_t count(
    const std::string & name, std::uint64_t least, std::uint64_t most,
    std::optional<std::uint64_t> otherwise = std::nullopt);
  /// A number within bounds.
  double number(
    const std::string & name, double least, double most,
    std::optional<double> otherwise = std::nullopt);
  /// Whether a flag without a value is there.
  bool given(const std::string & name);
  /// Refuses what is left.
  void finish() const;

private:
  std::map<std::string, std::optional<std::string>> flags_;
  std::set<std::string> known_;
};

}  // namespace probe
