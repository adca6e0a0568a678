// The node of `hopwatch lab executor` in rclcpp: a fast loop beside a heavy callback.
//
// The protocol stands in cli/src/lab/executor.rs.

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <geometry_msgs/msg/twist.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/laser_scan.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "flags.hpp"
#include "line.hpp"
#include "process.hpp"

namespace
{

using geometry_msgs::msg::Twist;
using sensor_msgs::msg::LaserScan;

/// How much longer than its loop a process may live.
constexpr std::chrono::minutes patience{2};
/// How long scans may keep a node waiting: discovery takes seconds at most.
constexpr std::chrono::nanoseconds no_scan = std::chrono::seconds(30);

/// What is to be done.
struct Asked
{
  std::uint64_t threads;
  std::uint64_t heavy;
  std::chrono::milliseconds period;
  std::chrono::milliseconds time;
};

/// The heavy work: a sum of sines.
double sines(std::uint64_t count)
{
  double sum = 0.0;
  double x = 0.0;
  for (std::uint64_t i = 0; i < count; ++i) {
    sum += std::sin(x);
    x += 1.0;
  }
  return sum;
}

class Loop : public rclcpp::Node
{
public:
  Loop(const Asked & asked, rclcpp::Executor & executor)
  : Node(
      "lab_loop",
      rclcpp::NodeOptions().enable_rosout(false).start_parameter_services(false)
      .start_parameter_event_publisher(false)),
    asked_(asked),
    executor_(executor)
  {
    const auto qos = rclcpp::SensorDataQoS();
    commands_ = create_publisher<Twist>("/cmd_vel", qos);
    rclcpp::SubscriptionOptions options;
    options.callback_group = create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
    scans_ = create_subscription<LaserScan>(
      "/scan", qos, [this](LaserScan::ConstSharedPtr) {scan();}, options);
    turns_group_ = create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
    timer_ = create_wall_timer(asked.period, [this] {turn();}, turns_group_);
  }

  /// Prints what was measured, once nobody spins any more.
  void say() const
  {
    if (taken_ == 0 && rclcpp::ok()) {
      throw std::runtime_error("no scan came within 30 s");
    }
    std::vector<std::int64_t> turns;
    for (const std::int64_t at : turns_) {
      turns.push_back(at - turns_.front());
    }
    std::vector<std::vector<std::uint64_t>> callbacks;
    for (const auto & [thread, done] : callbacks_) {
      callbacks.push_back({done.turns, done.heavy});
    }
    probe::Line node;
    node.put("turns_ns", turns).put("heavy_ns", took_).put("callbacks", callbacks).put("taken", taken_.load());
    probe::Line().put("node", node).say();
  }

private:
  struct Done
  {
    std::uint64_t turns = 0;
    std::uint64_t heavy = 0;
  };

  /// What the calling thread did.
  void count(std::uint64_t Done::* what)
  {
    const std::lock_guard<std::mutex> held(callbacks_mutex_);
    callbacks_[std::this_thread::get_id()].*what += 1;
  }

  /// The loop: as short as a callback can be. Its group has one caller at a time.
  void turn()
  {
    const std::int64_t now = probe::now_ns();
    if (over_) {
      return;
    }
    // A loop that has nothing beside it is another one: it counts from the first scan on.
    if (taken_ == 0) {
      if (now > patience_ns_) {
        over_ = true;
        executor_.cancel();
      }
      return;
    }
    turns_.push_back(now);
    count(&Done::turns);
    Twist message;
    message.linear.x = 0.5;
    commands_->publish(message);
    if (now - turns_.front() >= std::chrono::nanoseconds(asked_.time).count()) {
      over_ = true;
      executor_.cancel();
    }
  }

  /// The heavy callback. Its group has one caller at a time.
  void scan()
  {
    ++taken_;
    count(&Done::heavy);
    const std::int64_t began = probe::now_ns();
    result_ = sines(asked_.heavy);
    took_.push_back(probe::now_ns() - began);
  }

  const Asked asked_;
  rclcpp::Executor & executor_;
  rclcpp::CallbackGroup::SharedPtr turns_group_;
  rclcpp::Publisher<Twist>::SharedPtr commands_;
  rclcpp::Subscription<LaserScan>::SharedPtr scans_;
  rclcpp::TimerBase::SharedPtr timer_;
  bool over_ = false;
  std::vector<std::int64_t> turns_;
  std::vector<std::int64_t> took_;
  std::atomic<std::uint64_t> taken_{0};
  const std::int64_t patience_ns_ = probe::now_ns() + no_scan.count();
  /// Nobody looks at it, and no compiler may leave the work out.
  volatile double result_ = 0.0;
  std::mutex callbacks_mutex_;
  std::map<std::thread::id, Done> callbacks_;
};

void work(probe::Flags & flags)
{
  flags.choice("role", {"node"});
  flags.choice("work", {"threads"}, "threads");
  Asked asked{};
  asked.threads = flags.count("threads", 1, 256, 4);
  asked.heavy = flags.count("heavy", 1, 10'000'000'000, 5'000'000);
  asked.period = std::chrono::milliseconds(flags.count("period-ms", 1, 10'000, 10));
  asked.time = std::chrono::milliseconds(flags.count("for-ms", 1, 3'600'000, 6000));
  flags.count("rate-hz", 1, 1000, 60);
  flags.finish();
  const probe::Watch watch(asked.time + patience);
  rclcpp::executors::MultiThreadedExecutor executor(rclcpp::ExecutorOptions(), asked.threads);
  const auto loop = std::make_shared<Loop>(asked, executor);
  executor.add_node(loop);
  probe::ready();
  executor.spin();
  executor.remove_node(loop);
  loop->say();
}

}  // namespace

int main(int argc, char ** argv)
{
  return probe::main(argc, argv, work);
}
