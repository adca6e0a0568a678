// Lines of JSON on standard output.

#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace probe
{

/// An object of JSON that is put together field by field, in order.
class Line
{
public:
  /// A text.
  Line & put(const std::string & name, const std::string & value);
  /// A text.
  Line & put(const std::string & name, const char * value);
  /// An object.
  Line & put(const std::string & name, const Line & value);

  /// A number or a truth. Whole numbers are written whole: nanoseconds have more digits than a
  /// default precision keeps.
  template<typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Line & put(const std::string & name, T value)
  {
    return raw(name, text(value));
  }

  /// A list of texts, numbers, lists or objects.
  template<typename T>
  Line & put(const std::string & name, const std::vector<T> & values)
  {
    return raw(name, text(values));
  }

  /// Nothing.
  Line & none(const std::string & name);

  /// The object as text.
  std::string text() const;
  /// Prints it as a line, whole and at once: who reads it may wait for it.
  void say() const;

private:
  Line & raw(const std::string & name, const std::string & value);

  template<typename T>
  static std::string text(const std::vector<T> & values)
  {
    std::string all = "[";
    for (const T & value : values) {
      if (all.size() > 1) {
        all += ',';
      }
      all += text(value);
    }
    return all + "]";
  }

  template<typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  static std::string text(T value)
  {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else {
      return std::to_string(value);
    }
  }

  static std::string text(double value);
  static std::string text(const std::string & value);
  static std::string text(const Line & value);

  std::string fields_;
};

}  // namespace probe
