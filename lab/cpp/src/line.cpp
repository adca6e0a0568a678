#include "line.hpp"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace probe
{

Line & Line::put(const std::string & name, const std::string & value)
{
  return raw(name, text(value));
}

Line & Line::put(const std::string & name, const char * value)
{
  return raw(name, text(std::string(value)));
}

Line & Line::put(const std::string & name, const Line & value)
{
  return raw(name, value.text());
}

Line & Line::none(const std::string & name)
{
  return raw(name, "null");
}

Line & Line::raw(const std::string & name, const std::string & value)
{
  fields_ += (fields_.empty() ? "" : ",") + text(name) + ":" + value;
  return *this;
}

std::string Line::text() const
{
  return "{" + fields_ + "}";
}

std::string Line::text(const Line & value)
{
  return value.text();
}

std::string Line::text(double value)
{
  // JSON has no word for them.
  if (!std::isfinite(value)) {
    return "null";
  }
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(std::numeric_limits<double>::max_digits10);
  out << value;
  return out.str();
}

std::string Line::text(const std::string & value)
{
  static const char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char letter : value) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += digits[byte >> 4U];
      out += digits[byte & 0xfU];
    } else {
      out += letter;
    }
  }
  return out + "\"";
}

void Line::say() const
{
  const std::string line = text() + "\n";
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = write(STDOUT_FILENO, line.data() + done, line.size() - done);
    if (wrote < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "nobody reads the output");
    }
    done += wrote < 0 ? 0 : static_cast<std::size_t>(wrote);
  }
}

}  // namespace probe
