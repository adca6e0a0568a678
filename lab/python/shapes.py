"""A process of `hopwatch lab shapes` in rclpy: it publishes or takes one type, and prints raw values.

The protocol stands in `cli/src/lab/shapes.rs`. Nothing here but rclpy and numpy.
"""

import argparse
import array
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy
import rclpy
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.serialization import deserialize_message, serialize_message
from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractSequence,
    AbstractString,
    AbstractWString,
    BasicType,
    NamespacedType,
)

MASK = (1 << 64) - 1
BY_INDEX = 0x9E3779B97F4A7C15
BY_LEAF = 0xD1B54A32D192ED03

# rclpy holds sequences of these in array.array, and arrays of fixed length in numpy's.
CODES = {
    "float": "f",
    "double": "d",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
}
ALWAYS_AT_LEAST = 5
FAILED = 4
USAGE = 2


def fail(text: str, code: int = FAILED) -> NoReturn:
    """Ends the process with an error."""
    print(f"error: {text}", file=sys.stderr, flush=True)
    # DDS may hang in a half-made node; nothing is left to be said.
    os._exit(code)


def say(line: dict[str, Any]) -> None:
    """Prints a line, whole and at once."""
    print(json.dumps(line, separators=(",", ":")), flush=True)


def value(leaf: int, index: int) -> int:
    """x of a leaf at an index."""
    return ((index + 1) * BY_INDEX + (leaf + 1) * BY_LEAF) & MASK


def number(kind: str, x: int) -> Any:
    """x as a number of ROS."""
    if kind == "boolean":
        return bool(x >> 63)
    if kind == "float":
        return float(x >> 40)
    if kind == "double":
        return float(x >> 11)
    if kind == "octet":
        return bytes([x >> 56])
    if kind == "char":
        return x >> 56
    bits = int(kind.lstrip("uint"))
    top = x >> (64 - bits)
    return top if kind.startswith("u") or top < 1 << (bits - 1) else top - (1 << bits)


def text(x: int, length: int) -> str:
    """A text of this length."""
    return "".join(chr(ord("a") + ((x >> 32) + k) % 26) for k in range(length))


class Maker:
    """Makes messages of a type as one would write it by hand: from plain lists of values."""

    def __init__(self, of: str, lengths: dict[str, int]) -> None:
        self.lengths = lengths
        self.names: dict[str, Any] = {"array": array, "numpy": numpy}
        self.leaves = 0
        self.type = load(of)
        expression = self.structure(self.type, "", None, 1)
        # Written out once, and not walked for each message: a walk would be measured as well.
        self.make: Callable[[], Any] = eval(f"lambda: {expression}", self.names)  # noqa: S307

    def structure(self, of: type, before: str, index: str | None, around: int) -> str:
        """The expression for a structure; `index` names its place in the array that it is in."""
        name = f"{of.__module__.replace('.', '_')}_{of.__name__}"
        self.names[name] = of
        fields = zip(of.get_fields_and_field_types(), of.SLOT_TYPES)
        arguments = [
            f"{field}={self.field(kind, before + field, index, around)}"
            for field, kind in fields
            if field != "structure_needs_at_least_one_member"
        ]
        return f"{name}({', '.join(arguments)})"

    def length(self, path: str) -> int:
        if path not in self.lengths:
            fail(f"no length was given for {path}", USAGE)
        return self.lengths[path]

    def field(self, kind: Any, path: str, index: str | None, around: int) -> str:
        if not isinstance(kind, AbstractNestedType):
            return self.single(kind, path, path, index, around)
        count = self.length(path) if isinstance(kind, AbstractSequence) else kind.size
        element = kind.value_type
        if isinstance(element, NamespacedType):
            inner = f"i{len(path)}"
            one = self.structure(structure_type(element), f"{path}.", inner, count)
            return f"[{one} for {inner} in range({count})]"
        column = self.column(element, f"{path}[]", count)
        code = CODES.get(getattr(element, "typename", ""))
        if code is None:
            return f"list({column})"
        if isinstance(kind, AbstractSequence):
            return f"array.array({code!r}, {column})"
        return f"numpy.array({column}, dtype={code!r})"

    def single(self, kind: Any, path: str, text_path: str, index: str | None, around: int) -> str:
        if isinstance(kind, NamespacedType):
            return self.structure(structure_type(kind), f"{path}.", index, around)
        return f"{self.column(kind, text_path, around)}[{index or 0}]"

    def column(self, kind: Any, text_path: str, count: int) -> str:
        """The name of the list with a leaf's values."""
        leaf = self.leaves
        self.leaves += 1
        xs = [value(leaf, i) for i in range(count)]
        if isinstance(kind, (AbstractString, AbstractWString)):
            length = self.length(text_path)
            values = [text(x, length) for x in xs]
        elif isinstance(kind, BasicType):
            values = [number(kind.typename, x) for x in xs]
        else:
            fail(f"{text_path} is of a kind that is not known here: {kind}")
        self.names[f"v{leaf}"] = values
        return f"v{leaf}"


def load(of: str) -> type:
    """The class of a type by its name."""
    try:
        package, _, name = of.split("/")
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ValueError, ImportError, AttributeError) as error:
        fail(f"rclpy has no type {of}: {error}", USAGE)


def structure_type(kind: NamespacedType) -> type:
    return load("/".join(kind.namespaced_name()))


def same(a: Any, b: Any) -> bool:
    """Whether two messages are equal; numpy's arrays make `==` of messages fail."""
    if hasattr(a, "get_fields_and_field_types"):
        fields = a.get_fields_and_field_types()
        return type(a) is type(b) and all(same(getattr(a, f), getattr(b, f)) for f in fields)
    if isinstance(a, numpy.ndarray):
        return bool(numpy.array_equal(a, b))
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def measured(work: Callable[[], Any]) -> tuple[int, Any]:
    begun = time.monotonic_ns()
    result = work()
    return time.monotonic_ns() - begun, result


@dataclass
class Ending:
    """Tells when the process has been asked to end: standard input ended."""

    asked: threading.Event

    @staticmethod
    def watch() -> "Ending":
        asked = threading.Event()

        def read() -> None:
            while os.read(0, 4096):
                pass
            asked.set()

        threading.Thread(target=read, daemon=True).start()
        return Ending(asked)


def bench(args: argparse.Namespace, maker: Maker, publisher: Any, ending: Ending) -> None:
    """Each step alone, before there is a subscriber."""
    steps: dict[str, list[int]] = {
        name: [] for name in ("construct_ns", "serialize_ns", "publish_ns", "deserialize_ns")
    }
    begun = time.monotonic_ns()
    done = 0
    data = b""
    while done < args.warm_up + args.iterations and not ending.asked.is_set():
        late = time.monotonic_ns() - begun > args.within_ms * 1_000_000
        if late and done >= args.warm_up + ALWAYS_AT_LEAST:
            break
        construct, message = measured(maker.make)
        serialize, data = measured(lambda: serialize_message(message))
        publish, _ = measured(lambda: publisher.publish(message))
        deserialize, back = measured(lambda: deserialize_message(data, maker.type))
        if not same(message, back):
            fail("the round trip changed the message")
        if done >= args.warm_up:
            for name, ns in zip(steps, (construct, serialize, publish, deserialize)):
                steps[name].append(ns)
        done += 1
    if args.bytes:
        with open(args.bytes, "wb") as file:
            file.write(data)
    sizes = []
    for n in args.size:
        varied = args.lengths[next(iter(args.lengths))] if args.lengths else None
        lengths = {path: n if had == varied else had for path, had in args.lengths.items()}
        sizes.append([n, len(serialize_message(Maker(args.type, lengths).make()))])
    say({"bench": {"bytes": len(data), **steps, "round_trips": done, "sizes": sizes}})


def paced(args: argparse.Namespace, maker: Maker, publisher: Any, ending: Ending) -> None:
    """The same at the rate, once the subscribers are there."""
    deadline = time.monotonic() + 30
    while (matched := publisher.get_subscription_count()) < args.subscribers:
        if ending.asked.is_set():
            return
        if time.monotonic() > deadline:
            fail(f"only {matched} of {args.subscribers} subscriptions came within 30 s")
        time.sleep(0.005)
    # A writer knows of a match before the reader does, who takes nothing until then: what is sent
    # meanwhile would look like loss.
    time.sleep(0.5)
    build_ns, publish_ns, late_ns = [], [], []
    due = -(-args.paced_ms * args.rate_hz // 1000)
    begun = time.monotonic_ns() + 50_000_000
    ended = begun
    at = 0
    while at < due and not ending.asked.is_set():
        intended = begun + int(at * 1e9 / args.rate_hz)
        left = intended - time.monotonic_ns()
        if left > 0:
            time.sleep(left / 1e9)
        build, message = measured(maker.make)
        late_ns.append(time.monotonic_ns() - intended)
        publish, _ = measured(lambda: publisher.publish(message))
        ended = time.monotonic_ns()
        build_ns.append(build)
        publish_ns.append(publish)
        # What is past by a whole period is left out: it would only come in a burst.
        at = max(at + 1, int((ended - begun) * args.rate_hz / 1e9))
    say(
        {
            "paced": {
                "due": int(due),
                "sent": len(publish_ns),
                "build_ns": build_ns,
                "publish_ns": publish_ns,
                "late_ns": late_ns,
                "took_ns": ended - begun,
            }
        }
    )
    # So that the last ones leave.
    time.sleep(0.3)


def take(args: argparse.Namespace, node: Node, ending: Ending) -> None:
    """Takes what comes, until the publisher is gone."""
    raw = args.role == "take-raw"
    at_ns: list[int] = []
    last: list[Any] = [None]

    def came(message: Any) -> None:
        at_ns.append(time.monotonic_ns())
        last[0] = message

    of = load(args.type)
    subscription = node.create_subscription(
        of, args.topic, came, qos_profile_sensor_data, raw=raw
    )
    say({"ready": True})
    deadline = time.monotonic() + args.for_ms / 1000
    had_publisher = False
    quiet_since = time.monotonic()
    try:
        while rclpy.ok() and not ending.asked.is_set() and time.monotonic() < deadline:
            before = len(at_ns)
            rclpy.spin_once(node, timeout_sec=0.05)
            publishers = node.count_publishers(args.topic)
            had_publisher = had_publisher or publishers > 0 or bool(at_ns)
            if len(at_ns) != before or publishers > 0:
                quiet_since = time.monotonic()
            if had_publisher and time.monotonic() - quiet_since > 0.5:
                break
    except KeyboardInterrupt:
        pass
    if last[0] is not None and not raw:
        if not same(last[0], Maker(args.type, args.lengths).make()):
            fail("what arrived is not what was sent")
    size = len(last[0]) if raw and last[0] is not None else None
    say({"took": {"received": len(at_ns), "at_ns": at_ns, "bytes": size}})
    node.destroy_subscription(subscription)


def publish(args: argparse.Namespace, node: Node, ending: Ending) -> None:
    maker = Maker(args.type, args.lengths)
    publisher = node.create_publisher(maker.type, args.topic, qos_profile_sensor_data)
    say({"ready": True})
    try:
        bench(args, maker, publisher, ending)
        if args.subscribers > 0:
            paced(args, maker, publisher, ending)
    except KeyboardInterrupt:
        pass
    node.destroy_publisher(publisher)


def length(said: str) -> tuple[str, int]:
    path, _, n = said.rpartition("=")
    if not path or not n.isdigit():
        raise argparse.ArgumentTypeError(f"{said!r} is not PATH=N")
    return path, int(n)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", choices=["publish", "take", "take-raw"], required=True)
    parser.add_argument("--type", required=True)
    parser.add_argument("--length", type=length, action="append", default=[])
    parser.add_argument("--topic", required=True)
    parser.add_argument("--way", default="typed")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--within-ms", type=int, default=1000)
    parser.add_argument("--size", type=int, action="append", default=[])
    parser.add_argument("--bytes")
    parser.add_argument("--subscribers", type=int, default=0)
    parser.add_argument("--rate-hz", type=float, default=30.0)
    parser.add_argument("--paced-ms", type=int, default=1200)
    parser.add_argument("--for-ms", type=int, default=60_000)
    args = parser.parse_args()
    args.lengths = dict(args.length)
    return args


def main() -> None:
    args = arguments()
    ending = Ending.watch()
    # SIGINT raises KeyboardInterrupt, which ends loops in order: rclpy's own handler would take
    # the node away under them.
    rclpy.init(args=[], signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = Node(f"shapes_{args.role.replace('-', '_')}", enable_rosout=False,
                start_parameter_services=False)
    try:
        if args.role == "publish":
            publish(args, node, ending)
        else:
            take(args, node, ending)
    finally:
        node.destroy_node()
        rclpy.shutdown()


if __name__ == "__main__":
    main()
