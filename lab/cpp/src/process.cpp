#include "process.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <rclcpp/rclcpp.hpp>
#include <system_error>

#include "line.hpp"

namespace probe
{

namespace
{

constexpr int done = 0;
constexpr int usage = 2;
constexpr int failed = 4;

std::int64_t read_clock(clockid_t clock)
{
  timespec time{};
  if (clock_gettime(clock, &time) != 0) {
    throw std::system_error(errno, std::generic_category(), "failed to read a clock");
  }
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// Waits for the end of standard input, for the time's end, or for being woken.
void watch(int wake, std::int64_t until_ns)
{
  bool input = true;
  while (true) {
    const std::int64_t left_ms = (until_ns - now_ns()) / 1'000'000;
    if (left_ms <= 0) {
      std::cerr << "the time is over: ended by itself" << std::endl;
      break;
    }
    pollfd ends[2] = {{wake, POLLIN, 0}, {input ? STDIN_FILENO : -1, POLLIN, 0}};
    const int timeout = static_cast<int>(std::min<std::int64_t>(left_ms, 3'600'000));
    if (poll(ends, 2, timeout) < 0 && errno != EINTR) {
      break;
    }
    if (ends[0].revents != 0) {
      return;
    }
    if (ends[1].revents != 0) {
      char ignored[256];
      const ssize_t got = read(STDIN_FILENO, ignored, sizeof ignored);
      if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
        break;
      }
    }
  }
  rclcpp::shutdown();
}

}  // namespace

std::int64_t now_ns()
{
  return read_clock(CLOCK_MONOTONIC);
}

std::int64_t cpu_ns()
{
  return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

Watch::Watch(std::chrono::nanoseconds time)
: wake_(eventfd(0, EFD_CLOEXEC))
{
  if (wake_ < 0) {
    throw std::system_error(errno, std::generic_category(), "failed to make an event");
  }
  const std::int64_t until_ns = now_ns() + time.count();
  thread_ = std::thread([wake = wake_, until_ns] {watch(wake, until_ns);});
}

Watch::~Watch()
{
  const std::uint64_t one = 1;
  // An event's counter takes one more: this can't fail, and joining would show if it did.
  [[maybe_unused]] const ssize_t wrote = write(wake_, &one, sizeof one);
  thread_.join();
  close(wake_);
}

bool sleep_until(std::int64_t time_ns)
{
  const std::int64_t left = time_ns - now_ns();
  return left <= 0 ? rclcpp::ok() : sleep_for(std::chrono::nanoseconds(left));
}

bool sleep_for(std::chrono::nanoseconds time)
{
  return rclcpp::sleep_for(time);
}

void ready()
{
  Line().put("ready", true).say();
}

int main(int argc, char ** argv, const std::function<void(Flags &)> & work)
{
  int code = done;
  try {
    Flags flags(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
    rclcpp::init(argc, argv);
    work(flags);
  } catch (const Usage & error) {
    std::cerr << "error: " << error.what() << std::endl;
    code = usage;
  } catch (const std::exception & error) {
    // What fails because it was told to end has not failed.
    if (rclcpp::ok()) {
      std::cerr << "error: " << error.what() << std::endl;
      code = failed;
    } else {
      std::cerr << "ended: " << error.what() << std::endl;
    }
  }
  rclcpp::shutdown();
  return code;
}

}  // namespace probe
