#include "flags.hpp"

#include <charconv>
#include <cmath>
#include <sstream>

namespace probe
{

Flags::Flags(const std::vector<std::string> & words)
{
  const std::string dashes = "--";
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string & word = words[at];
    if (word.compare(0, dashes.size(), dashes) != 0 || word.size() == dashes.size()) {
      throw Usage("\"" + word + "\" is no flag: flags begin with --");
    }
    std::string name = word.substr(dashes.size());
    std::optional<std::string> value;
    const auto equals = name.find('=');
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (at + 1 < words.size() && words[at + 1].compare(0, dashes.size(), dashes) != 0) {
      value = words[++at];
    }
    if (!flags_.emplace(name, value).second) {
      throw Usage("--" + name + " is given twice");
    }
  }
}

std::optional<std::string> Flags::text_if(const std::string & name)
{
  known_.insert(name);
  const auto found = flags_.find(name);
  if (found == flags_.end()) {
    return std::nullopt;
  }
  if (!found->second) {
    throw Usage("--" + name + " needs a value");
  }
  return found->second;
}

std::string Flags::text(const std::string & name)
{
  const auto value = text_if(name);
  if (!value) {
    throw Usage("--" + name + " is missing");
  }
  return *value;
}

std::string Flags::choice(
  const std::string & name, const std::vector<std::string> & words,
  const std::optional<std::string> & otherwise)
{
  const auto value = text_if(name);
  if (!value && otherwise) {
    return *otherwise;
  }
  std::string all;
  for (const auto & word : words) {
    if (value == word) {
      return word;
    }
    all += (all.empty() ? "" : ", ") + word;
  }
  throw Usage(
    value ? "--" + name + " \"" + *value + "\" is none of " + all :
    "--" + name + " is missing: one of " + all);
}

std::uint64_t Flags::count(
  const std::string & name, std::uint64_t least, std::uint64_t most,
  std::optional<std::uint64_t> otherwise)
{
  const auto value = text_if(name);
  if (!value && otherwise) {
    return *otherwise;
  }
  std::uint64_t count = 0;
  const std::string text = value.value_or("");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < least || count > most) {
    throw Usage(
      "--" + name + " must be a whole number from " + std::to_string(least) + " to " +
      std::to_string(most) + (value ? ", not \"" + text + "\"" : ""));
  }
  return count;
}

double Flags::number(
  const std::string & name, double least, double most, std::optional<double> otherwise)
{
  const auto value = text_if(name);
  if (!value && otherwise) {
    return *otherwise;
  }
  std::istringstream in(value.value_or(""));
  in.imbue(std::locale::classic());
  double number = 0.0;
  in >> number;
  if (in.fail() || !in.eof() || !std::isfinite(number) || number < least || number > most) {
    std::ostringstream text;
    text << "--" << name << " must be a number from " << least << " to " << most;
    if (value) {
      text << ", not \"" << *value << "\"";
    }
    throw Usage(text.str());
  }
  return number;
}

bool Flags::given(const std::string & name)
{
  known_.insert(name);
  const auto found = flags_.find(name);
  if (found == flags_.end()) {
    return false;
  }
  if (found->second) {
    throw Usage("--" + name + " takes no value, not \"" + *found->second + "\"");
  }
  return true;
}

void Flags::finish() const
{
  for (const auto & flag : flags_) {
    if (known_.count(flag.first) == 0) {
      throw Usage("there is no flag --" + flag.first);
    }
  }
}

}  // namespace probe
