"""The robot: publishes RobotMessage at a fixed rate from an rclpy timer."""

from __future__ import annotations

import argparse
import json
import sys
import time
import uuid
from typing import TextIO

import rclpy
from hopwatch_msgs.msg import RobotMessage
from lifetime import add_lifetime, limit_lifetime
from qos import QOS_NAMES, qos_profile
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

STATUSES = ("running", "idle", "error")


class Robot(Node):
    """Publishes `count` messages, one a timer tick, and logs each one's stamps."""

    def __init__(self, arguments: argparse.Namespace, log: TextIO) -> None:
        super().__init__("robot_publisher")
        self.robot_id: str = arguments.robot_id
        self.count: int = arguments.count
        self.published = 0
        self.log = log
        self.topic = self.create_publisher(
            RobotMessage, "/robot_messages", qos_profile(arguments.qos))

    def wait_for_match(self, timeout_s: float) -> None:
        """Spins until a subscription has matched: what is published before that is lost."""
        deadline = time.monotonic() + timeout_s
        while self.topic.get_subscription_count() == 0:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no matched subscription on /robot_messages in {timeout_s} s")
            rclpy.spin_once(self, timeout_sec=0.05)

    def tick(self) -> None:
        """Publishes the next message; the stamps are read right before it is handed over."""
        if self.published >= self.count:
            return
        message = RobotMessage()
        message.header.message_id = str(uuid.uuid4())
        message.header.robot_id = self.robot_id
        message.header.message_type = "status"
        message.header.priority = 1
        message.header.sequence = self.published
        message.battery = 100.0 - self.published % 100
        message.robot_status = STATUSES[self.published % len(STATUSES)]
        wall_ns, mono_ns = time.time_ns(), time.monotonic_ns()
        message.header.timestamp_sec, message.header.timestamp_nsec = divmod(wall_ns, 10**9)
        self.topic.publish(message)
        self.log.write(json.dumps({
            "sequence": self.published,
            "message_id": message.header.message_id,
            "published_wall_ns": wall_ns,
            "published_mono_ns": mono_ns,
        }) + "\n")
        self.published += 1

    def linger(self, seconds: float) -> None:
        """Gives the last messages time to arrive before the writer disappears.

        A reliable reader acknowledges when asked, which Fast DDS does every 3 s.
        """
        self.topic.wait_for_all_acked(Duration(seconds=8.0))
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            rclpy.spin_once(self, timeout_sec=left)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=1.0, help="messages a second")
    parser.add_argument("--count", type=int, default=60, help="messages to publish")
    parser.add_argument("--qos", choices=QOS_NAMES, default="best-effort")
    parser.add_argument("--robot-id", default="robot_001")
    parser.add_argument("--log", required=True, help="JSONL file, one line a message")
    parser.add_argument("--go", action="store_true",
                        help="start publishing when a line arrives on standard input")
    parser.add_argument("--match-timeout", type=float, default=20.0, metavar="S")
    parser.add_argument("--linger", type=float, default=0.5, metavar="S")
    add_lifetime(parser)
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    limit_lifetime(arguments.lifetime)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C stays Python's
    with open(arguments.log, "w", encoding="utf-8") as log:
        robot = Robot(arguments, log)
        try:
            robot.wait_for_match(arguments.match_timeout)
            if arguments.go:
                sys.stdin.readline()
            robot.create_timer(1.0 / arguments.rate, robot.tick)
            while rclpy.ok() and robot.published < robot.count:
                rclpy.spin_once(robot, timeout_sec=1.0)
            robot.linger(arguments.linger)
        except TimeoutError as error:
            print(f"failed to start publishing: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            pass
        finally:
            robot.destroy_node()
            rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
