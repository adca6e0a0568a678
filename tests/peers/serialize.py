#!/usr/bin/env python3
"""Messages of many types as rclpy serializes them, beside the JSON that they mean.

Writes NDJSON: a line {"definition": TYPE, "text": MSG} for each type that is needed, and a line
{"type": TYPE, "cdr": HEX, "json": {…}} for each message. Each type comes as it is made and with
fields filled at random, extremes among them. The JSON is that of a walk through rclpy's objects,
and shares no code with Hopwatch: NaN and infinities are texts, float32 has its shortest digits.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

# What the committed fixtures hold: shapes that real pipelines carry, and every kind of field.
FIXTURES = [
    "std_msgs/msg/String", "std_msgs/msg/Empty", "std_msgs/msg/Float64MultiArray",
    "sensor_msgs/msg/Image", "sensor_msgs/msg/PointCloud2", "sensor_msgs/msg/LaserScan",
    "sensor_msgs/msg/NavSatFix", "diagnostic_msgs/msg/DiagnosticArray",
    "geometry_msgs/msg/PoseWithCovarianceStamped", "hopwatch_msgs/msg/RobotMessage",
    "hopwatch_msgs/msg/Census", "hopwatch_test_msgs/msg/Arrays",
    "hopwatch_test_msgs/msg/Constants", "hopwatch_test_msgs/msg/Gaps",
    "hopwatch_test_msgs/msg/Kinds", "hopwatch_test_msgs/msg/Nested",
    "hopwatch_test_msgs/msg/Nothing", "hopwatch_test_msgs/msg/Texts",
]

TEXTS = ["", "a", "robot_001", "é€😀", 'quotes " and \\ \n\t', "x" * 40]
DOUBLES = [0.0, -0.0, 1.5, 0.1, 1e300, 5e-324, -1e16, 123456.789, math.nan, math.inf, -math.inf]
SINGLES = [0.0, 1.5, 0.1, 3.4e38, 1e-45, -16777216.0, math.nan, math.inf, -math.inf]


def share_folders(package: str) -> Iterator[Path]:
    """The installed folders of a package, in the order in which they are looked at."""
    for prefix in os.environ["AMENT_PREFIX_PATH"].split(":"):
        folder = Path(prefix) / "share" / package
        if folder.is_dir():
            yield folder


def definition(type_name: str) -> str:
    package, _, name = type_name.split("/")
    for folder in share_folders(package):
        if (path := folder / "msg" / f"{name}.msg").is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(f"no definition of {type_name} below AMENT_PREFIX_PATH")


def installed_types() -> list[str]:
    """All message types that can be imported here."""
    found = set()
    for prefix in os.environ["AMENT_PREFIX_PATH"].split(":"):
        for path in Path(prefix).glob("share/*/msg/*.msg"):
            found.add(f"{path.parts[-3]}/msg/{path.stem}")
    return sorted(found)


def message_class(type_name: str) -> type:
    package, _, name = type_name.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), name)


class Walk:
    """Fills messages and tells what they hold, by the types that rosidl gives their fields."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.types: dict[str, None] = {}

    def fill(self, type_name: str) -> Any:
        message = message_class(type_name)()
        for slot, slot_type in zip(message.get_fields_and_field_types(), message.SLOT_TYPES):
            setattr(message, slot, self.value(slot_type))
        return message

    def value(self, slot_type: Any) -> Any:
        kind = type(slot_type).__name__
        if kind == "Array":
            return [self.value(slot_type.value_type) for _ in range(slot_type.size)]
        if kind in ("BoundedSequence", "UnboundedSequence"):
            length = self.random.randint(0, min(3, getattr(slot_type, "maximum_size", 3)))
            return [self.value(slot_type.value_type) for _ in range(length)]
        if kind in ("BoundedString", "BoundedWString"):
            # rclpy holds the bound against the text's UTF-8, also for wide text.
            return "abcdefgh"[:self.random.randint(0, min(8, slot_type.maximum_size))]
        if kind in ("UnboundedString", "UnboundedWString"):
            return self.random.choice(TEXTS)
        if kind == "NamespacedType":
            return self.fill("/".join(slot_type.namespaced_name()))
        return self.primitive(slot_type.typename)

    def primitive(self, name: str) -> Any:
        if name == "boolean":
            return self.random.random() < 0.5
        if name == "octet":
            return bytes([self.random.choice([0, 1, 127, 128, 255])])
        if name == "float":
            return self.random.choice(SINGLES)
        if name == "double":
            return self.random.choice([*DOUBLES, self.random.gauss(0, 1e3)])
        signed, bits = not name.startswith("u"), int(name.lstrip("uint"))
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return self.random.choice([low, high, 0, 1, self.random.randint(low, high)])

    def meaning(self, type_name: str, message: Any) -> dict[str, Any]:
        self.types.setdefault(type_name)
        return {
            slot: self.value_meaning(slot_type, getattr(message, slot))
            for slot, slot_type in zip(message.get_fields_and_field_types(), message.SLOT_TYPES)
        }

    def value_meaning(self, slot_type: Any, value: Any) -> Any:
        kind = type(slot_type).__name__
        if kind in ("Array", "BoundedSequence", "UnboundedSequence"):
            # Also of types that no element tells.
            element = slot_type.value_type
            if type(element).__name__ == "NamespacedType":
                self.fill_types("/".join(element.namespaced_name()))
            return [self.value_meaning(element, each) for each in value]
        if kind == "NamespacedType":
            return self.meaning("/".join(slot_type.namespaced_name()), value)
        if kind != "BasicType":
            return str(value)
        if slot_type.typename == "boolean":
            return bool(value)
        if slot_type.typename == "octet":
            return value[0]
        if slot_type.typename in ("float", "double"):
            number = float(value)
            if math.isnan(number):
                return "NaN"
            if math.isinf(number):
                return "Infinity" if number > 0 else "-Infinity"
            return shortest(number) if slot_type.typename == "float" else number
        return int(value)

    def fill_types(self, type_name: str) -> None:
        if type_name not in self.types:
            self.meaning(type_name, message_class(type_name)())


def shortest(number: float) -> float:
    """The double with the fewest digits that is the same float32."""
    import numpy

    return float(str(numpy.float32(number)))


def build_test_messages(folder: Path) -> dict[str, str]:
    """Builds hopwatch_test_msgs below `folder`, and gives the environment that finds it."""
    environment = dict(os.environ)
    python = sys.executable
    environment["PATH"] = f"{Path(python).parent}:{environment['PATH']}"
    prefix, build = folder / "prefix", folder / "build"
    for command in (
        ["cmake", "-S", HERE / "hopwatch_test_msgs", "-B", build, "-DBUILD_TESTING=OFF",
         f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DPython3_EXECUTABLE={python}"],
        ["cmake", "--build", build, "--parallel", "2"],
        ["cmake", "--install", build],
    ):
        subprocess.run(command, check=True, env=environment, stdout=sys.stderr)
    packages = next(prefix.glob("lib/python3*/site-packages"))
    for name, path in (("AMENT_PREFIX_PATH", prefix), ("LD_LIBRARY_PATH", prefix / "lib"),
                       ("PYTHONPATH", packages)):
        environment[name] = ":".join(filter(None, [str(path), environment.get(name)]))
    return environment


def write(types: list[str], seed: int, rounds: int, out: Any) -> None:
    from rclpy.serialization import serialize_message

    walk = Walk(seed)
    lines = []
    for type_name in types:
        for message in [message_class(type_name)(), *(walk.fill(type_name) for _ in range(rounds))]:
            lines.append({"type": type_name, "cdr": serialize_message(message).hex(),
                          "json": walk.meaning(type_name, message)})
    for type_name in walk.types:
        print(json.dumps({"definition": type_name, "text": definition(type_name)}), file=out)
    for line in lines:
        print(json.dumps(line, allow_nan=False), file=out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("types", nargs="*", metavar="TYPE", help="like std_msgs/msg/String")
    parser.add_argument("--installed", action="store_true", help="all types that are installed")
    parser.add_argument("--fixtures", action="store_true",
                        help="those of crates/rosmsg/fixtures; builds hopwatch_test_msgs first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2, help="random messages of each type")
    arguments = parser.parse_args()
    if arguments.fixtures and not list(share_folders("hopwatch_test_msgs")):
        with tempfile.TemporaryDirectory() as folder:
            environment = build_test_messages(Path(folder))
            return subprocess.run([sys.executable, *sys.argv], env=environment).returncode
    types = arguments.types + (FIXTURES if arguments.fixtures else [])
    if arguments.installed:
        types += installed_types()
    write(types, arguments.seed, arguments.rounds, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
