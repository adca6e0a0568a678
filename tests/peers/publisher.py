#!/usr/bin/env python3
"""A foreign robot: publishes RobotMessage from plain rclpy and logs what it sent.

It shares no code with Hopwatch, so what it says of itself can be held against what
Hopwatch reports. Each line of the log belongs to one message: its sequence and id,
and the wall and monotonic time read right before publish(); the wall time is the
header's timestamp.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import uuid
from contextlib import AbstractContextManager, nullcontext
from typing import TextIO

import rclpy
from hopwatch_msgs.msg import RobotMessage
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions


def end_on_signals() -> None:
    """Makes SIGINT and SIGTERM a KeyboardInterrupt, also where a shell had them ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def open_log(path: str) -> AbstractContextManager[TextIO]:
    """The file at `path`; `-` is standard output, which stays open."""
    return nullcontext(sys.stdout) if path == "-" else open(path, "w", encoding="utf-8")


def qos_profile(name: str, depth: int) -> QoSProfile:
    """RELIABLE KEEP_LAST 10, or BEST_EFFORT KEEP_LAST 1; both VOLATILE. A depth overrules theirs."""
    reliable = name == "reliable"
    return QoSProfile(
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        history=HistoryPolicy.KEEP_LAST, depth=depth or (10 if reliable else 1),
        durability=DurabilityPolicy.VOLATILE)


def wait_for_match(node: Node, publisher: Publisher, timeout_s: float, settle_s: float) -> None:
    """Spins until a subscription has matched, then `settle_s` longer.

    The match is this side's: nothing in the API tells when the other side knows this
    writer too, and until it does it drops what it gets.
    """
    deadline = time.monotonic() + timeout_s
    while publisher.get_subscription_count() == 0:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no matched subscription on {publisher.topic_name} "
                               f"within {timeout_s:g} s")
        rclpy.spin_once(node, timeout_sec=0.02)
    spin_until(node, time.monotonic_ns() + round(settle_s * 1e9))


def spin_until(node: Node, mono_ns: int) -> None:
    """Serves the node until that monotonic time."""
    while (left_ns := mono_ns - time.monotonic_ns()) > 0:
        # The last bit is slept, since a spin may return late.
        if left_ns > 5_000_000:
            rclpy.spin_once(node, timeout_sec=(left_ns - 3_000_000) / 1e9)
        else:
            time.sleep(left_ns / 1e9)


def make_message(arguments: argparse.Namespace, sequence: int) -> RobotMessage:
    message = RobotMessage()
    message.header.message_id = str(uuid.uuid4())
    message.header.robot_id = arguments.robot_id
    message.header.message_type = "status"
    message.header.priority = 1
    message.header.sequence = sequence
    message.battery = 100.0 - sequence % 100
    message.robot_status = "running"
    return message


def publish_all(node: Node, publisher: Publisher, arguments: argparse.Namespace,
                log: TextIO) -> None:
    """Publishes on an absolute schedule: message i is due at start + i / rate, and those of a
    burst when its first one is."""
    start_ns = time.monotonic_ns()
    for sequence in range(arguments.count):
        message = make_message(arguments, sequence)
        due = sequence - sequence % arguments.burst
        spin_until(node, start_ns + round(due * 1e9 / arguments.rate))
        wall_ns, mono_ns = time.time_ns(), time.monotonic_ns()
        message.header.timestamp_sec, message.header.timestamp_nsec = divmod(wall_ns, 10**9)
        publisher.publish(message)
        print(json.dumps({"sequence": sequence, "message_id": message.header.message_id,
                          "published_wall_ns": wall_ns, "published_mono_ns": mono_ns}),
              file=log, flush=True)


def linger(node: Node, publisher: Publisher, qos: str, seconds: float) -> bool:
    """Keeps the writer until a reliable reader has acknowledged everything.

    Fast DDS asks for acknowledgements every 3 s only, so that may take as long. Best
    effort has none, and gets a moment for what is under way.
    """
    if qos == "reliable":
        return bool(publisher.wait_for_all_acked(Duration(seconds=seconds)))
    spin_until(node, time.monotonic_ns() + round(min(seconds, 0.5) * 1e9))
    return True


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60, help="messages to publish")
    parser.add_argument("--rate", type=float, default=1.0, help="messages a second")
    parser.add_argument("--burst", type=int, default=1, metavar="N",
                        help="publish N at once, at the same rate on the whole")
    parser.add_argument("--depth", type=int, default=0, metavar="N",
                        help="messages that the writer keeps (default: as --qos has it)")
    parser.add_argument("--qos", choices=("best-effort", "reliable"), default="best-effort")
    parser.add_argument("--robot-id", default="robot_001")
    parser.add_argument("--topic", default="/robot_messages")
    parser.add_argument("--log", default="-", help="JSONL file (default: stdout)")
    parser.add_argument("--no-wait", action="store_true", help="don't wait for a subscription")
    parser.add_argument("--match-timeout", type=float, default=20.0, metavar="S")
    parser.add_argument("--settle", type=float, default=0.3, metavar="S",
                        help="pause between the match and the first message")
    parser.add_argument("--linger", type=float, default=8.0, metavar="S",
                        help="at the end, reliable: longest wait for acknowledgements; "
                             "best effort: pause, at most half a second")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    end_on_signals()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("peer_publisher")
    publisher = node.create_publisher(RobotMessage, arguments.topic, qos_profile(arguments.qos, arguments.depth))
    try:
        if not arguments.no_wait:
            wait_for_match(node, publisher, arguments.match_timeout, arguments.settle)
        with open_log(arguments.log) as log:
            publish_all(node, publisher, arguments, log)
        if not linger(node, publisher, arguments.qos, arguments.linger):
            print(f"not everything was acknowledged within {arguments.linger:g} s",
                  file=sys.stderr)
            return 3
    except TimeoutError as error:
        print(f"failed to publish: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
