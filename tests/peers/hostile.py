#!/usr/bin/env python3
"""A hostile robot: publishes RobotMessage samples that no honest publisher sends.

The bytes are laid out here (XCDR version 1, little endian, 4-byte encapsulation
header) and handed to DDS undecoded. A normal message goes first and after each
hostile one, so a subscriber that fell over is seen. Every message takes the next
sequence number, whether or not its bytes still tell it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import struct
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import Any, TextIO

import rclpy
from hopwatch_msgs.msg import RobotMessage
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

LITTLE_ENDIAN = b"\x00\x01\x00\x00"
BIG_ENDIAN = b"\x00\x00\x00\x00"


@dataclass(frozen=True)
class Fields:
    """A RobotMessage in the order of its bytes; strings are bytes, so they can be wrong."""

    message_id: bytes = field(default_factory=lambda: str(uuid.uuid4()).encode())
    timestamp_sec: int = 0
    timestamp_nsec: int = 0
    robot_id: bytes = b"robot_001"
    message_type: bytes = b"status"
    priority: int = 1
    sequence: int = 0
    battery: float = 88.5
    robot_status: bytes = b"running"
    command: bytes = b""
    error_message: bytes = b""


FORMATS = {"timestamp_sec": "q", "timestamp_nsec": "q", "priority": "i", "sequence": "i",
           "battery": "d"}


def encode(message: Fields, byte_order: str = "<", terminated: bool = True) -> bytes:
    """The serialized message; alignment counts from the end of the encapsulation header."""
    body = bytearray()

    def put(form: str, value: float) -> None:
        size = struct.calcsize(form)
        body.extend(bytes(-len(body) % size))
        body.extend(struct.pack(byte_order + form, value))

    for item in fields(message):
        value = getattr(message, item.name)
        if item.name in FORMATS:
            put(FORMATS[item.name], value)
        else:
            text = value + (b"\x00" if terminated else b"")
            put("I", len(text))
            body.extend(text)
    return (LITTLE_ENDIAN if byte_order == "<" else BIG_ENDIAN) + bytes(body)


def honest(sequence: int) -> Fields:
    """A normal message, stamped now."""
    seconds, nanoseconds = divmod(time.time_ns(), 10**9)
    return Fields(timestamp_sec=seconds, timestamp_nsec=nanoseconds, sequence=sequence)


def changed(**values: Any) -> Callable[[Fields], bytes]:
    """A well-formed sample with fields that make no sense."""
    return lambda message: encode(replace(message, **values))


def cut(keep: Callable[[int], int]) -> Callable[[Fields], bytes]:
    """A sample that ends early."""
    return lambda message: (whole := encode(message))[:keep(len(whole))]


def length_lie(message: Fields) -> bytes:
    """Says that message_id is 4 GB long."""
    whole = bytearray(encode(message))
    whole[4:8] = b"\xff\xff\xff\xff"
    return bytes(whole)


@dataclass(frozen=True)
class Kind:
    """How to make one kind of hostile message, and whether rclpy could decode it."""

    make: Callable[[Fields], bytes]
    decodable: bool = True


# Always the same bytes, so that a failure can be repeated.
NOISE = random.Random(58).randbytes(64)

KINDS: dict[str, Kind] = {
    "invalid-utf8": Kind(changed(command=b"\xff\xfe\x80 stop \xc3\x28")),
    "invalid-utf8-id": Kind(changed(message_id=b"\xed\xa0\x80\xf8", robot_id=b"robot_\xff")),
    "inner-nul": Kind(changed(command=b"go\x00stop", robot_id=b"robot\x00_001")),
    "battery-nan": Kind(changed(battery=float("nan"))),
    "battery-inf": Kind(changed(battery=float("inf"))),
    "battery-minus-inf": Kind(changed(battery=float("-inf"))),
    "error-100kb": Kind(changed(error_message=b"E" * 100_003)),
    # The lengths make a multiple of four, since a fragmented sample isn't padded.
    "error-1mb": Kind(changed(error_message=b"E" * 1_000_003)),
    "empty-strings": Kind(changed(message_id=b"", robot_id=b"", message_type=b"",
                                  robot_status=b"")),
    "not-a-uuid": Kind(changed(message_id=b"not-a-uuid")),
    "markup": Kind(changed(error_message=b"<script>alert(1)</script>\r\n\x1b[31m\"',{}")),
    "negative-priority": Kind(changed(priority=-(2**31))),
    "negative-sequence": Kind(changed(sequence=-7)),
    "huge-sequence": Kind(changed(sequence=2**31 - 1)),
    "time-zero": Kind(changed(timestamp_sec=0, timestamp_nsec=0)),
    "time-negative": Kind(changed(timestamp_sec=-1, timestamp_nsec=-1)),
    "time-extreme": Kind(changed(timestamp_sec=2**63 - 1, timestamp_nsec=2**63 - 1)),
    "nsec-overflow": Kind(changed(timestamp_nsec=1_000_000_000)),
    "big-endian": Kind(lambda message: encode(message, ">")),
    "unterminated": Kind(lambda message: encode(message, terminated=False)),
    "trailing-bytes": Kind(lambda message: encode(message) + NOISE),
    "length-lie": Kind(length_lie, decodable=False),
    "truncated-tail": Kind(cut(lambda length: length - 5), decodable=False),
    "truncated-battery": Kind(cut(lambda length: length // 2), decodable=False),
    "truncated-string": Kind(cut(lambda _: 20), decodable=False),
    "header-only": Kind(cut(lambda _: 4), decodable=False),
    "two-bytes": Kind(cut(lambda _: 2), decodable=False),
    "garbage-body": Kind(lambda _: LITTLE_ENDIAN + NOISE, decodable=False),
    "garbage": Kind(lambda _: NOISE, decodable=False),
    # Last: Fast DDS loses it, and behind it everything else of a reliable writer.
    "no-bytes": Kind(lambda _: b"", decodable=False),
}


def kinds(text: str) -> list[str]:
    """`all`, or names separated by commas."""
    names = list(KINDS) if text == "all" else text.split(",")
    if unknown := [name for name in names if name not in KINDS]:
        raise argparse.ArgumentTypeError(
            f"no such kind: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    return names


def sample(kind: str, sequence: int) -> tuple[bytes, int | None]:
    """The bytes of the next message, and the sequence in them, if they can be decoded."""
    message = honest(sequence)
    if kind == "normal":
        return encode(message), sequence
    own = {"negative-sequence": -7, "huge-sequence": 2**31 - 1}.get(kind, sequence)
    return KINDS[kind].make(message), own if KINDS[kind].decodable else None


def publish_all(publisher: Publisher, arguments: argparse.Namespace, log: TextIO) -> None:
    """Normal, hostile, normal, hostile, …, normal, at a fixed rate."""
    plan = ["normal"]
    for kind in arguments.kinds * arguments.repeat:
        plan += [kind, "normal"]
    start = time.monotonic()
    for slot, kind in enumerate(plan):
        time.sleep(max(0.0, start + slot / arguments.rate - time.monotonic()))
        data, sequence = sample(kind, slot)
        # RTPS pads every payload to a multiple of four: this is what should arrive.
        arriving = data + bytes(-len(data) % 4)
        record = {"slot": slot, "kind": kind, "sequence": sequence, "bytes": len(data),
                  "sha256": hashlib.sha256(arriving).hexdigest(),
                  "decodable": sequence is not None, "refused": None,
                  "published_wall_ns": time.time_ns(), "published_mono_ns": time.monotonic_ns()}
        try:
            publisher.publish(data)
        except Exception as error:  # whatever rclpy makes of it belongs into the log
            record["refused"] = f"{type(error).__name__}: {error}"
        print(json.dumps(record), file=log, flush=True)


def end_on_signals() -> None:
    """Makes SIGINT and SIGTERM a KeyboardInterrupt, also where a shell had them ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def open_log(path: str) -> AbstractContextManager[TextIO]:
    """The file at `path`; `-` is standard output, which stays open."""
    return nullcontext(sys.stdout) if path == "-" else open(path, "w", encoding="utf-8")


def wait_for_match(node: Node, publisher: Publisher, timeout_s: float, settle_s: float) -> None:
    """Spins until a subscription has matched, and a little longer for its side of the match."""
    deadline = time.monotonic() + timeout_s
    while publisher.get_subscription_count() == 0:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no matched subscription within {timeout_s:g} s")
        rclpy.spin_once(node, timeout_sec=0.02)
    settled = time.monotonic() + settle_s
    while (left := settled - time.monotonic()) > 0:
        rclpy.spin_once(node, timeout_sec=left)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", type=kinds, default=list(KINDS), metavar="NAMES",
                        help=f"comma-separated, or all (default): {', '.join(KINDS)}")
    parser.add_argument("--repeat", type=int, default=1, help="times through the kinds")
    parser.add_argument("--rate", type=float, default=10.0, help="messages a second")
    parser.add_argument("--qos", choices=("best-effort", "reliable"), default="best-effort")
    parser.add_argument("--topic", default="/robot_messages")
    parser.add_argument("--log", default="-", help="JSONL file (default: stdout)")
    parser.add_argument("--no-wait", action="store_true", help="don't wait for a subscription")
    parser.add_argument("--match-timeout", type=float, default=20.0, metavar="S")
    parser.add_argument("--settle", type=float, default=0.3, metavar="S")
    parser.add_argument("--linger", type=float, default=8.0, metavar="S",
                        help="at the end, reliable: longest wait for acknowledgements; "
                             "best effort: pause, at most half a second")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    reliable = arguments.qos == "reliable"
    end_on_signals()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("peer_hostile")
    publisher = node.create_publisher(RobotMessage, arguments.topic, QoSProfile(
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        history=HistoryPolicy.KEEP_LAST, depth=10 if reliable else 1,
        durability=DurabilityPolicy.VOLATILE))
    try:
        if not arguments.no_wait:
            wait_for_match(node, publisher, arguments.match_timeout, arguments.settle)
        with open_log(arguments.log) as log:
            publish_all(publisher, arguments, log)
        if reliable:
            publisher.wait_for_all_acked(Duration(seconds=arguments.linger))
        else:
            time.sleep(min(arguments.linger, 0.5))  # for what is under way
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
