// What every probe does as a process: it begins with its flags, ends when it is asked to, when its
// standard input ends or when its time is over, and says by its exit code how it went.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "flags.hpp"

namespace probe
{

/// Now, in ns of CLOCK_MONOTONIC: one clock for all processes of a host.
std::int64_t now_ns();

/// CPU time of this process so far, of user and system, in ns.
std::int64_t cpu_ns();

/// Ends ROS when standard input ends, or when the time is over: nothing runs on when `hopwatch` is
/// gone, however it went. SIGINT is seen to by rclcpp.
class Watch
{
public:
  /// Begins to watch. ROS must be initialised.
  explicit Watch(std::chrono::nanoseconds time);
  ~Watch();
  Watch(const Watch &) = delete;
  Watch & operator=(const Watch &) = delete;

private:
  int wake_;
  std::thread thread_;
};

/// Sleeps until a time of `now_ns`, or until ROS is shut down. Whether the time has come.
bool sleep_until(std::int64_t time_ns);

/// Sleeps. Whether it was for the whole time.
bool sleep_for(std::chrono::nanoseconds time);

/// Sets ROS up, does the work, and gives the exit code: 0 done, 2 wrong flags, 4 failed.
///
/// `work` asks for its flags first and calls `Flags::finish`; it ends early when `rclcpp::ok()` is
/// false.
int main(int argc, char ** argv, const std::function<void(Flags &)> & work);

/// Says that all is set up.
void ready();

}  // namespace probe
