#!/usr/bin/env python3
"""Runs the Python reference stack once and writes its figures.

Starts the AI service, the web service, the gateway and the robot, publishes once
they are matched, waits until the gateway has nothing left to do, stops them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import summary
from environment import (
    HERE,
    EnvironmentFailure,
    child_environment,
    prepared_python,
    ros_environment,
)
from processes import Stack, StackFailure, get_json, require_free_port, wait_until

SCHEMA = "hopwatch.python-stack/1"
PACKAGES = ("flask", "fastapi", "uvicorn", "httpx", "websockets")


def seconds(text: str) -> float:
    """A duration such as `15` or `15s`."""
    value = float(text.removesuffix("s"))
    if not 0 < value <= 3600:
        raise argparse.ArgumentTypeError(f"{text}: a duration is above 0 and at most 3600 s")
    return value


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=1.0, help="messages a second")
    parser.add_argument("--ai-ms", type=float, default=1000.0, help="duration of one analysis")
    parser.add_argument("--for", type=seconds, default=60.0, dest="duration_s", metavar="S",
                        help="how long to publish")
    parser.add_argument("--qos", choices=("best-effort", "reliable"), default="best-effort")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--viewers", type=int, default=0, help="WebSocket viewers to connect")
    parser.add_argument("--gateway-port", type=int, default=8000)
    parser.add_argument("--ai-port", type=int, default=5000)
    parser.add_argument("--web-port", type=int, default=8001)
    parser.add_argument("--domain", type=int, default=int(os.environ.get("ROS_DOMAIN_ID", "51")),
                        help="ROS domain (default: ROS_DOMAIN_ID, else 51)")
    return parser.parse_args()


def start_services(stack: Stack, arguments: argparse.Namespace, lifetime: int) -> str:
    """Starts what the robot needs, each when those it calls answer; the gateway's address."""
    ai = f"http://127.0.0.1:{arguments.ai_port}"
    web = f"http://127.0.0.1:{arguments.web_port}"
    gateway = f"http://127.0.0.1:{arguments.gateway_port}"
    for port in (arguments.ai_port, arguments.web_port, arguments.gateway_port):
        require_free_port(port)
    stack.start("ai", "ai_service.py", [
        "--port", arguments.ai_port, "--ai-ms", arguments.ai_ms, "--lifetime", lifetime])
    stack.start("web", "web_service.py", ["--port", arguments.web_port, "--lifetime", lifetime])
    wait_until("AI service to answer", stack.answers(f"{ai}/health"), 20.0)
    wait_until("web service to answer", stack.answers(f"{web}/health"), 20.0)
    for number in range(arguments.viewers):
        stack.start(f"viewer-{number}", "viewer.py", [
            "--url", f"ws://127.0.0.1:{arguments.web_port}/ws", "--lifetime", lifetime,
            "--out", stack.out / f"viewer-{number}.json"])
    health = stack.answers(f"{web}/health")
    wait_until("viewers to connect", lambda: health()["viewers"] == arguments.viewers, 20.0)
    stack.start("gateway", "gateway.py", [
        "--port", arguments.gateway_port, "--ai-url", ai, "--web-url", web,
        "--qos", arguments.qos, "--log", stack.out / "messages.csv", "--lifetime", lifetime])
    wait_until("gateway to answer", stack.answers(f"{gateway}/status"), 20.0)
    return gateway


def publish(stack: Stack, arguments: argparse.Namespace, gateway: str, lifetime: int
            ) -> dict[str, Any]:
    """Publishes everything, waits until the gateway is idle; returns the gateway's counts."""
    count = max(1, round(arguments.rate * arguments.duration_s))
    stack.start("robot", "publisher.py", [
        "--rate", arguments.rate, "--count", count, "--qos", arguments.qos, "--go",
        "--log", stack.out / "published.jsonl", "--lifetime", lifetime])
    status = stack.answers(f"{gateway}/status")
    # Both sides must have matched: a reader that doesn't know the writer drops its messages.
    wait_until("gateway to match the robot", lambda: status()["publishers"], 20.0)
    stack.go("robot")
    stack.wait_for_end("robot", count / arguments.rate + 40.0)
    # A KEEP_LAST 10 history may still hold ten messages.
    drain_s = 12 * (arguments.ai_ms / 1000 + 0.5) + 5.0
    wait_until("gateway to become idle", lambda: status()["idle_s"] > 0.5, drain_s, 0.25)
    return get_json(f"{gateway}/status")


def shared_memory_files() -> int:
    """How many shared-memory files of Fast DDS there are; a run must not add any."""
    folder = Path("/dev/shm")
    return sum(1 for path in folder.iterdir() if "fastrtps" in path.name) if folder.is_dir() else 0


def environment(python: str) -> dict[str, Any]:
    """What the figures depend on."""
    code = f"from importlib.metadata import version\nfor p in {PACKAGES!r}: print(p, version(p))"
    versions = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return {
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "load_1m": round(os.getloadavg()[0], 2),
        "packages": dict(line.split() for line in versions.stdout.splitlines()),
    }


def report(arguments: argparse.Namespace, counts: dict[str, Any], out: Path) -> dict[str, Any]:
    """The figures of `python.json`, from the files that the processes wrote."""
    published = summary.read_published(out / "published.jsonl")
    rows = summary.read_processed(out / "messages.csv")
    return {
        "schema": SCHEMA,
        "rate_hz": arguments.rate,
        "ai_ms": arguments.ai_ms,
        "for_s": arguments.duration_s,
        "qos": arguments.qos,
        "published": len(published),
        "received": counts["received"],
        "processed": len(rows),
        "failed": counts["failed"],
        "lost": len(published) - counts["received"],
        "stages": summary.stages(rows, published),
    }


def table(figures: dict[str, Any]) -> str:
    """The figures for the terminal, in ms."""
    lines = [f"published {figures['published']}, received {figures['received']}, "
             f"processed {figures['processed']}, lost {figures['lost']}",
             f"{'stage, ms':24}{'mean':>10}{'sd':>10}{'min':>10}{'p50':>10}{'p99':>10}{'max':>10}"]
    for name, stage in figures["stages"].items():
        cells = [stage.get(f"{key}_ns") for key in ("mean", "sd", "min", "p50", "p99", "max")]
        lines.append(f"{name:24}" + "".join(
            f"{'-' if cell is None else f'{cell / 1e6:.3f}':>10}" for cell in cells))
    return "\n".join(lines)


def main() -> int:
    arguments = parse_arguments()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    out: Path = arguments.out
    try:
        ros = ros_environment()
        python = prepared_python(ros)
        out.mkdir(parents=True, exist_ok=True)
        surroundings = environment(python)
        segments = shared_memory_files()
        lifetime = round(arguments.duration_s + 15 * arguments.ai_ms / 1000 + 150)
        with Stack(python, HERE, out, child_environment(ros, arguments.domain)) as stack:
            gateway = start_services(stack, arguments, lifetime)
            counts = publish(stack, arguments, gateway, lifetime)
    except (EnvironmentFailure, StackFailure) as error:
        print(f"failed to run the Python stack: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: everything was stopped, nothing is reported", file=sys.stderr)
        return 130
    figures = report(arguments, counts, out) | {
        "stopped_by": stack.stopped_by,
        "shared_memory_files": {"before": segments, "after": shared_memory_files()},
        "environment": surroundings,
    }
    (out / "python.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
