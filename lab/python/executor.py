"""The node of `hopwatch lab executor` in rclpy: a fast loop beside a heavy callback.

The protocol stands in `cli/src/lab/executor.rs`. Nothing here but rclpy and numpy.
"""

import argparse
import ctypes
import json
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy
import rclpy
from geometry_msgs.msg import Twist
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import LaserScan

FAILED = 4
PR_SET_PDEATHSIG = 1
# Values that numpy works on at once: what fits a processor's cache.
CHUNK = 1 << 16
# How long scans may keep a node waiting: discovery takes seconds at most.
NO_SCAN_NS = 30_000_000_000


def say(line: dict[str, Any]) -> None:
    """Prints a line, whole and at once."""
    print(json.dumps(line, separators=(",", ":")), flush=True)


def sines(count: int) -> float:
    """The heavy work, in Python's own words: the interpreter's lock is held all the while."""
    total = 0.0
    for i in range(count):
        total += math.sin(i)
    return total


def sines_by_numpy(count: int) -> float:
    """The heavy work in numpy, which lets go of the interpreter's lock inside."""
    total = 0.0
    for begin in range(0, count, CHUNK):
        total += float(numpy.sin(numpy.arange(begin, min(begin + CHUNK, count), dtype=float)).sum())
    return total


def begin_worker() -> None:
    """The parent ends its workers; and however it ends, they end with it (prctl(2))."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # Whoever reads the node's lines must see its end.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


class LoopNode(Node):
    """Two callbacks, each in a group of its own."""

    def __init__(self, args: argparse.Namespace, work: Callable[[int], float], done: threading.Event) -> None:
        super().__init__("lab_loop", enable_rosout=False, start_parameter_services=False)
        self.heavy = args.heavy
        self.for_ns = args.for_ms * 1_000_000
        self.work = work
        self.done = done
        self.turns: list[int] = []
        self.took: list[int] = []
        # Of each thread: turns of the loop, heavy callbacks.
        self.callbacks: dict[int, list[int]] = {}
        self.taken = 0
        self.patience = time.monotonic_ns() + NO_SCAN_NS
        self.failure: str | None = None
        self.commands = self.create_publisher(Twist, "/cmd_vel", qos_profile_sensor_data)
        self.create_subscription(
            LaserScan, "/scan", self.scan, qos_profile_sensor_data,
            callback_group=MutuallyExclusiveCallbackGroup(),
        )
        self.create_timer(args.period_ms / 1000, self.turn, callback_group=MutuallyExclusiveCallbackGroup())

    def mine(self) -> list[int]:
        """What this thread did."""
        return self.callbacks.setdefault(threading.get_ident(), [0, 0])

    def turn(self) -> None:
        """The loop: as short as a callback can be."""
        now = time.monotonic_ns()
        if self.done.is_set():
            return
        # A loop that has nothing beside it is another one: it counts from the first scan on.
        if self.taken == 0:
            if now > self.patience:
                self.failure = "no scan came within 30 s"
                self.done.set()
            return
        self.turns.append(now)
        self.mine()[0] += 1
        message = Twist()
        message.linear.x = 0.5
        self.commands.publish(message)
        if now - self.turns[0] >= self.for_ns:
            self.done.set()

    def scan(self, _message: LaserScan) -> None:
        """The heavy callback."""
        if self.done.is_set():
            return
        self.taken += 1
        self.mine()[1] += 1
        began = time.monotonic_ns()
        self.work(self.heavy)
        self.took.append(time.monotonic_ns() - began)


def end_with_parent(done: threading.Event) -> None:
    """Whoever started this process is gone when standard input ends."""

    def watch() -> None:
        while sys.stdin.buffer.read(1):
            pass
        done.set()

    threading.Thread(target=watch, daemon=True).start()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", choices=["node"], required=True)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--work", choices=["threads", "process", "numpy"], default="threads")
    parser.add_argument("--heavy", type=int, default=5_000_000)
    parser.add_argument("--period-ms", type=int, default=10)
    parser.add_argument("--for-ms", type=int, default=6000)
    parser.add_argument("--rate-hz", type=int, default=60)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    done = threading.Event()
    pool: ProcessPoolExecutor | None = None
    work: Callable[[int], float] = sines_by_numpy if args.work == "numpy" else sines
    if args.work == "process":
        # Before ROS has threads; spawned, so that nothing of it is copied.
        pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"),
                                   initializer=begin_worker)
        worker = pool
        worker.submit(sines, 1).result()

        def work(count: int) -> float:
            return worker.submit(sines, count).result()

    signal.signal(signal.SIGINT, lambda *_: done.set())
    signal.signal(signal.SIGTERM, lambda *_: done.set())
    rclpy.init(args=[], signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = LoopNode(args, work, done)
    executor = MultiThreadedExecutor(num_threads=args.threads)
    executor.add_node(node)
    end_with_parent(done)
    say({"ready": True})
    while not done.is_set():
        executor.spin_once(timeout_sec=0.5)
    if node.failure is not None:
        print(f"error: {node.failure}", file=sys.stderr, flush=True)
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
        os._exit(FAILED)
    began = node.turns[0] if node.turns else 0
    say({
        "node": {
            "turns_ns": [at - began for at in list(node.turns)],
            "heavy_ns": list(node.took),
            "callbacks": list(node.callbacks.values()),
            "taken": node.taken,
        }
    })
    if pool is not None:
        pool.shutdown(wait=True, cancel_futures=True)
    # Waits for the callback that is under way.
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()
    sys.stdout.flush()
    # Threads of the executor may be left in a callback: nothing of theirs is wanted any more.
    os._exit(0)


if __name__ == "__main__":
    main()
