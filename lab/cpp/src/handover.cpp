// Producer and consumers of `hopwatch lab handover` in one process, in rclcpp: its intra-process
// communication, and DDS without it.
//
// The protocol stands in cli/src/lab/handover.rs.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/image.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "flags.hpp"
#include "line.hpp"
#include "process.hpp"
#include "system.hpp"

namespace
{

using sensor_msgs::msg::Image;

/// `number`, 8 bytes, and `handed`, 8 bytes.
constexpr std::size_t head = 16;
/// The number again: half a message is none.
constexpr std::size_t tail = 8;
/// How long consumers are waited for, and the last messages.
constexpr std::chrono::seconds waiting{10};

/// What is to be done.
struct Asked
{
  std::string way;
  std::string addresses;
  std::string topic;
  std::size_t size;
  std::size_t consumers;
  std::size_t depth;
  std::uint64_t messages;
  std::uint64_t warm_up;
  double rate_hz;
  std::chrono::milliseconds time;

  bool gives_away() const {return way == "moved" || way == "shared" || way == "dds";}
  bool owns() const {return way == "moved" || way == "copied";}
  bool by_dds() const {return way == "dds";}
  bool tells_addresses() const {return addresses != "no";}
};

std::uint64_t word_at(const std::vector<std::uint8_t> & bytes, std::size_t at)
{
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

/// Of all bytes but those that every message has of its own.
std::uint64_t sum_of(const std::vector<std::uint8_t> & bytes)
{
  std::uint64_t sum = 0;
  std::size_t at = head;
  const std::size_t end = bytes.size() - tail;
  for (; at + sizeof(std::uint64_t) <= end; at += sizeof(std::uint64_t)) {
    sum = sum * 31 + word_at(bytes, at);
  }
  for (; at < end; ++at) {
    sum = sum * 31 + bytes[at];
  }
  return sum;
}

/// What all messages hold.
class Template
{
public:
  explicit Template(std::size_t size)
  : bytes_(size)
  {
    for (std::size_t at = 0; at < size; ++at) {
      const std::uint64_t word = (at / 8) * 0x9E3779B97F4A7C15U;
      bytes_[at] = static_cast<std::uint8_t>(word >> (8 * (at % 8)));
    }
    sum_ = sum_of(bytes_);
  }

  Image::UniquePtr image(std::uint64_t number) const
  {
    auto image = std::make_unique<Image>();
    image->header.frame_id = "cam";
    image->height = 1;
    image->width = static_cast<std::uint32_t>(bytes_.size());
    image->step = image->width;
    image->encoding = "mono8";
    image->data = bytes_;
    std::memcpy(image->data.data(), &number, sizeof number);
    std::memcpy(image->data.data() + bytes_.size() - tail, &number, sizeof number);
    return image;
  }

  /// Reads every byte; whether they are those of a message.
  bool holds(const std::vector<std::uint8_t> & bytes) const
  {
    return bytes.size() == bytes_.size() &&
           word_at(bytes, 0) == word_at(bytes, bytes.size() - tail) && sum_of(bytes) == sum_;
  }

private:
  std::vector<std::uint8_t> bytes_;
  std::uint64_t sum_ = 0;
};

/// What a consumer measured.
struct Took
{
  std::vector<std::int64_t> latency_ns;
  std::vector<std::int64_t> read_ns;
  std::uint64_t wrong = 0;
  std::vector<probe::Line> buffers;
  /// The last message, if addresses are told: held until all consumers have told theirs.
  std::shared_ptr<const void> held;
};

/// Messages and consumers together.
class Handover
{
public:
  explicit Handover(const Asked & asked)
  : asked_(asked),
    template_(asked.size),
    took_(asked.consumers),
    node_(std::make_shared<rclcpp::Node>(
        "lab_handover",
        rclcpp::NodeOptions().use_intra_process_comms(!asked.by_dds()).enable_rosout(false)
        .start_parameter_services(false).start_parameter_event_publisher(false)))
  {
    const auto qos = rclcpp::QoS(rclcpp::KeepLast(asked.depth)).reliable();
    publisher_ = node_->create_publisher<Image>(asked.topic, qos);
    for (std::size_t at = 0; at < asked.consumers; ++at) {
      rclcpp::SubscriptionOptions options;
      options.callback_group =
        node_->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
      if (asked.owns()) {
        subscriptions_.push_back(
          node_->create_subscription<Image>(
            asked.topic, qos,
            [this, at](Image::UniquePtr image) {
              take(took_[at], std::shared_ptr<const Image>(std::move(image)));
            }, options));
      } else {
        subscriptions_.push_back(
          node_->create_subscription<Image>(
            asked.topic, qos,
            [this, at](Image::ConstSharedPtr image) {take(took_[at], std::move(image));}, options));
      }
      groups_.push_back(options.callback_group);
    }
  }

  void run()
  {
    // With DDS and addresses, one thread publishes and takes, as an executor with one thread has it.
    const bool one_thread = asked_.by_dds() && asked_.tells_addresses();
    rclcpp::executors::MultiThreadedExecutor many(
      rclcpp::ExecutorOptions(), std::max<std::size_t>(2, asked_.consumers));
    rclcpp::executors::SingleThreadedExecutor one;
    std::thread spinning;
    if (one_thread) {
      one.add_node(node_);
    } else {
      many.add_node(node_);
      spinning = std::thread([&many] {many.spin();});
    }
    const std::function<void()> turn = [&one, one_thread] {
        if (one_thread) {
          one.spin_some();
        } else {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      };
    try {
      probe::ready();
      produce(turn);
    } catch (...) {
      stop(many, spinning);
      throw;
    }
    stop(many, spinning);
    say();
  }

private:
  static void stop(rclcpp::Executor & executor, std::thread & spinning)
  {
    if (spinning.joinable()) {
      executor.cancel();
      spinning.join();
    }
  }

  /// Waits for something. Whether it came.
  static bool wait(const std::function<void()> & turn, const std::function<bool()> & there)
  {
    const std::int64_t until = probe::now_ns() + std::chrono::nanoseconds(waiting).count();
    while (rclcpp::ok() && probe::now_ns() < until) {
      if (there()) {
        return true;
      }
      turn();
    }
    return false;
  }

  void produce(const std::function<void()> & turn)
  {
    const bool matched = wait(
      turn, [this] {
        const std::size_t there = asked_.by_dds() ? publisher_->get_subscription_count() :
        publisher_->get_intra_process_subscription_count();
        return there >= asked_.consumers;
      });
    if (!matched) {
      throw std::runtime_error("the consumers did not come");
    }
    probe::sleep_for(std::chrono::milliseconds(500));
    const std::uint64_t end = asked_.warm_up + asked_.messages;
    const auto period = static_cast<std::int64_t>(1e9 / asked_.rate_hz);
    std::int64_t due = probe::now_ns();
    for (std::uint64_t number = 0; number < end && probe::sleep_until(due); ++number) {
      if (number == asked_.warm_up) {
        cpu_ns_ = probe::cpu_ns();
        loopback_ = probe::loopback_bytes();
      }
      const auto [handed_ns, address] = give(number);
      if (number >= asked_.warm_up) {
        ++sent_;
        handed_ns_.push_back(handed_ns);
        if (asked_.tells_addresses()) {
          buffers_.push_back(probe::buffer(number, address));
        }
      }
      if (asked_.addresses == "decoys") {
        decoys_.emplace_back(asked_.size, std::uint8_t{1});
      }
      if (asked_.tells_addresses()) {
        wait(turn, [this, number] {return all_have(number);});
        release();
      }
      // What is past by a whole period is left out: it would only come in a burst.
      due = std::max(due + period, probe::now_ns() - period);
    }
    wait(turn, [this, end] {return all_have(end - 1);});
    cpu_ns_ = probe::cpu_ns() - cpu_ns_;
    loopback_ = probe::loopback_bytes() - loopback_;
  }

  std::pair<std::int64_t, const void *> give(std::uint64_t number)
  {
    Image::UniquePtr image = template_.image(number);
    const void * address = image->data.data();
    const std::int64_t began = probe::now_ns();
    std::memcpy(image->data.data() + sizeof number, &began, sizeof began);
    if (asked_.gives_away()) {
      publisher_->publish(std::move(image));
      return {probe::now_ns() - began, address};
    }
    publisher_->publish(*image);
    const std::int64_t handed_ns = probe::now_ns() - began;
    // It is the producer's until all consumers have told where theirs lies.
    kept_ = std::move(image);
    return {handed_ns, address};
  }

  void take(Took & took, std::shared_ptr<const Image> image)
  {
    const std::int64_t had = probe::now_ns();
    const std::vector<std::uint8_t> & bytes = image->data;
    if (bytes.size() < head + tail) {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++took.wrong;
      return;
    }
    const std::uint64_t number = word_at(bytes, 0);
    const auto handed = static_cast<std::int64_t>(word_at(bytes, sizeof number));
    const bool holds = template_.holds(bytes);
    const std::int64_t read = probe::now_ns();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (number >= asked_.warm_up) {
      took.wrong += holds ? 0 : 1;
      took.latency_ns.push_back(had - handed);
      took.read_ns.push_back(read - handed);
      if (asked_.tells_addresses()) {
        took.buffers.push_back(probe::buffer(number, bytes.data()));
      }
    }
    // Where freed blocks are to come back, nothing is held.
    if (asked_.tells_addresses() && !asked_.by_dds()) {
      took.held = std::move(image);
    }
    had_.push_back(number);
  }

  bool all_have(std::uint64_t number)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto had = std::count(had_.begin(), had_.end(), number);
    return static_cast<std::size_t>(had) >= asked_.consumers;
  }

  void release()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Took & took : took_) {
      took.held.reset();
    }
    kept_.reset();
  }

  void say() const
  {
    const auto maps = probe::shared_memory();
    probe::Line gave;
    gave.put("sent", sent_).put("handed_ns", handed_ns_).put("cpu_ns", cpu_ns_)
    .put("loopback_bytes", loopback_).put("buffers", buffers_).put("maps", maps).none("lends");
    std::vector<probe::Line> all;
    for (const Took & took : took_) {
      probe::Line one;
      one.put("latency_ns", took.latency_ns).put("read_ns", took.read_ns).put("wrong", took.wrong)
      .put("cpu_ns", 0).put("buffers", took.buffers).put("maps", maps).none("lends");
      all.push_back(one);
    }
    probe::Line handed;
    handed.put("gave", gave).put("took", all);
    probe::Line().put("handover", handed).say();
  }

  const Asked asked_;
  const Template template_;
  std::mutex mutex_;
  std::vector<Took> took_;
  std::vector<std::uint64_t> had_;
  rclcpp::Node::SharedPtr node_;
  std::vector<rclcpp::CallbackGroup::SharedPtr> groups_;
  rclcpp::Publisher<Image>::SharedPtr publisher_;
  std::vector<rclcpp::Subscription<Image>::SharedPtr> subscriptions_;
  std::uint64_t sent_ = 0;
  std::vector<std::int64_t> handed_ns_;
  std::vector<probe::Line> buffers_;
  std::int64_t cpu_ns_ = 0;
  std::int64_t loopback_ = 0;
  Image::UniquePtr kept_;
  std::vector<std::vector<std::uint8_t>> decoys_;
};

void work(probe::Flags & flags)
{
  Asked asked{};
  flags.choice("role", {"both"});
  asked.way = flags.choice("way", {"moved", "shared", "copied", "copied-once", "dds"});
  asked.addresses = flags.choice("addresses", {"no", "plain", "decoys"}, "no");
  asked.topic = flags.text("topic");
  asked.size = flags.count("size", 64, 1'000'000'000, 6'220'800);
  asked.consumers = flags.count("consumers", 1, 64, 1);
  asked.depth = flags.count("depth", 1, 10'000, 10);
  asked.messages = flags.count("messages", 1, 100'000, 30);
  asked.warm_up = flags.count("warm-up", 0, 1000, 5);
  asked.rate_hz = flags.number("rate-hz", 0.01, 100'000, 30.0);
  asked.time = std::chrono::milliseconds(flags.count("for-ms", 1, 3'600'000, 300'000));
  flags.finish();
  const probe::Watch watch(asked.time);
  Handover(asked).run();
}

}  // namespace

int main(int argc, char ** argv)
{
  return probe::main(argc, argv, work);
}
