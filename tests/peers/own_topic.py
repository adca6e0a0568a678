#!/usr/bin/env python3
"""A foreign node with a topic of its own: publishes messages of a type that Hopwatch wasn't built
with, as the bytes that rclpy makes of them, and keeps those bytes.

Each line of the log belongs to one message: its number, when the time of its header was read (on
the monotonic clock, ns), and the length of its CDR; the CDR itself goes into a file NUMBER.cdr in --dump.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseWithCovarianceStamped
from hopwatch_msgs.msg import Census, RobotMessage
from publisher import (end_on_signals, linger, open_log, qos_profile, spin_until, wait_for_match)
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image, PointCloud2, PointField
from std_msgs.msg import Header, String

WIDTH, HEIGHT = 1920, 1080


def header(wall_ns: int) -> Header:
    made = Header(frame_id="camera")
    made.stamp.sec, made.stamp.nanosec = divmod(wall_ns, 10**9)
    return made


def image(number: int, wall_ns: int) -> Image:
    """6.2 MB, with its number all over it."""
    data = bytes((number + row) % 256 for row in range(HEIGHT))
    return Image(header=header(wall_ns), height=HEIGHT, width=WIDTH, encoding="rgb8", step=3 * WIDTH,
                 data=b"".join(bytes([value]) * (3 * WIDTH) for value in data))


def points(number: int, wall_ns: int) -> PointCloud2:
    fields = [PointField(name=name, offset=4 * at, datatype=PointField.FLOAT32, count=1)
              for at, name in enumerate("xyz")]
    return PointCloud2(header=header(wall_ns), height=1, width=100 + number, fields=fields,
                       point_step=12, row_step=12 * (100 + number), is_dense=True,
                       data=bytes(number % 256 for _ in range(12 * (100 + number))))


def diagnostics(number: int, wall_ns: int) -> DiagnosticArray:
    values = [KeyValue(key=f"k{at}", value="ä" * at) for at in range(number % 4)]
    status = DiagnosticStatus(level=b"\x02", name=f"motor {number}", message="hot", values=values)
    return DiagnosticArray(header=header(wall_ns), status=[status, DiagnosticStatus()])


def pose(number: int, wall_ns: int) -> PoseWithCovarianceStamped:
    made = PoseWithCovarianceStamped(header=header(wall_ns))
    made.pose.pose.position.x = number / 2
    made.pose.covariance[35] = 0.25
    return made


def robot(number: int, wall_ns: int) -> RobotMessage:
    made = RobotMessage(battery=float(number))
    made.header.sequence = 1000 + number
    made.header.robot_id = "arm_7"
    made.header.timestamp_sec, made.header.timestamp_nsec = divmod(wall_ns, 10**9)
    return made


def census(number: int, _: int) -> Census:
    return Census(robot_id="arm_7", topic="/nowhere", rate_hz=1.0, published=1000 + number)


KINDS: dict[str, tuple[Any, Any]] = {
    "string": (String, lambda number, _: String(data=f'message {number} says "hi"')),
    "image": (Image, image),
    "points": (PointCloud2, points),
    "diagnostics": (DiagnosticArray, diagnostics),
    "pose": (PoseWithCovarianceStamped, pose),
    "robot": (RobotMessage, robot),
    "census": (Census, census),
}


def publish_all(node: Any, publisher: Any, arguments: argparse.Namespace, log: Any) -> None:
    start_ns = time.monotonic_ns()
    for number in range(arguments.count):
        spin_until(node, start_ns + round(number * 1e9 / arguments.rate))
        wall_ns, mono_ns = time.time_ns(), time.monotonic_ns()
        cdr = serialize_message(KINDS[arguments.kind][1](number, wall_ns))
        if arguments.dump:
            (arguments.dump / f"{number}.cdr").write_bytes(cdr)
        publisher.publish(cdr)
        print(json.dumps({"number": number, "stamp_mono_ns": mono_ns, "bytes": len(cdr)}),
              file=log, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=sorted(KINDS), required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--rate", type=float, default=5.0)
    parser.add_argument("--qos", choices=("best-effort", "reliable"), default="reliable")
    parser.add_argument("--log", default="-", help="JSONL file (default: stdout)")
    parser.add_argument("--dump", type=Path, help="folder for the bytes")
    parser.add_argument("--only-offer", type=float, metavar="S",
                        help="publish nothing: be there for S seconds")
    arguments = parser.parse_args()
    end_on_signals()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(f"own_{arguments.kind}")
    qos = qos_profile(arguments.qos, 10)
    publisher = node.create_publisher(KINDS[arguments.kind][0], arguments.topic, qos)
    try:
        if arguments.only_offer:
            print(f"offers {arguments.topic}", flush=True)
            end_ns = time.monotonic_ns() + round(arguments.only_offer * 1e9)
            # In short spins: a signal is looked at between them only.
            while (now_ns := time.monotonic_ns()) < end_ns:
                spin_until(node, min(end_ns, now_ns + 100_000_000))
            return 0
        with open_log(arguments.log) as log:
            wait_for_match(node, publisher, 20.0, 0.5)
            publish_all(node, publisher, arguments, log)
        return 0 if linger(node, publisher, arguments.qos, 8.0) else 1
    except KeyboardInterrupt:
        return 130
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    sys.exit(main())
