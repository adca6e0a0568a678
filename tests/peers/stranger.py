#!/usr/bin/env python3
"""A publisher of which nothing arrives: of std_msgs/msg/String, ten a second, or a mute robot."""

from __future__ import annotations

import argparse
import signal
import sys

import rclpy
from hopwatch_msgs.msg import RobotMessage
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topic", default="/robot_messages")
    parser.add_argument("--mute", action="store_true", help="be of RobotMessage, publish nothing")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("peer_stranger")
    kind = RobotMessage if arguments.mute else String
    publisher = node.create_publisher(kind, arguments.topic, 10)

    def speak() -> None:
        # Also for the mute: a spin without an end to it doesn't see signals.
        if not arguments.mute:
            publisher.publish(String(data="hello"))

    node.create_timer(0.1, speak)
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        return 130
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
