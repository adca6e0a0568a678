#!/usr/bin/env python3
"""Takes RobotMessage samples undecoded and logs length and SHA-256 of their bytes.

With the log of hostile.py it proves that the bytes cross DDS unchanged.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import TextIO

import rclpy
from hopwatch_msgs.msg import RobotMessage
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions


def end_on_signals() -> None:
    """Makes SIGINT and SIGTERM a KeyboardInterrupt, also where a shell had them ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def open_log(path: str) -> AbstractContextManager[TextIO]:
    """The file at `path`; `-` is standard output, which stays open."""
    return nullcontext(sys.stdout) if path == "-" else open(path, "w", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topic", default="/robot_messages")
    parser.add_argument("--qos", choices=("best-effort", "reliable"), default="reliable")
    parser.add_argument("--for", type=float, default=30.0, dest="duration_s", metavar="S",
                        help="end after S seconds")
    parser.add_argument("--count", type=int, default=0, help="end after so many samples")
    parser.add_argument("--log", default="-", help="JSONL file (default: stdout)")
    arguments = parser.parse_args()

    end_on_signals()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("peer_raw_listener")
    taken = 0
    reliable = arguments.qos == "reliable"
    with open_log(arguments.log) as log:
        def on_sample(sample: bytes) -> None:
            nonlocal taken
            taken += 1
            print(json.dumps({"taken_mono_ns": time.monotonic_ns(), "bytes": len(sample),
                              "sha256": hashlib.sha256(sample).hexdigest(),
                              "tail": sample[-4:].hex()}), file=log, flush=True)

        # Deep, so that nothing is overwritten while a 1 MB sample is hashed.
        node.create_subscription(
            RobotMessage, arguments.topic, on_sample, raw=True, qos_profile=QoSProfile(
                reliability=(ReliabilityPolicy.RELIABLE if reliable
                             else ReliabilityPolicy.BEST_EFFORT),
                history=HistoryPolicy.KEEP_LAST, depth=100,
                durability=DurabilityPolicy.VOLATILE))
        deadline = time.monotonic() + arguments.duration_s
        try:
            while time.monotonic() < deadline and (not arguments.count
                                                   or taken < arguments.count):
                rclpy.spin_once(node, timeout_sec=0.1)
        except KeyboardInterrupt:
            pass
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
