"""The gateway: takes each robot message, has the AI service analyse it, passes it on.

The subscription's callback runs `asyncio.run` with a new HTTP client for every
message, the way the stack's makers had it. The callback therefore blocks the
executor until the message is done: the gateway is serial, and what arrives
meanwhile waits in the DDS reader's history, or is overwritten there unseen.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TextIO

import httpx
import rclpy
import uvicorn
from fastapi import FastAPI
from hopwatch_msgs.msg import RobotMessage
from lifetime import add_lifetime, limit_lifetime
from qos import QOS_NAMES, qos_profile
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

COLUMNS = ("sequence", "message_id", "received_mono_ns", "ai_ns", "ai_served_ns", "web_ns",
           "overhead_ns", "total_ns", "error")


def as_json(message: RobotMessage) -> dict[str, Any]:
    """The message as the JSON object that both services get."""
    header = message.header
    return {
        "header": {
            "message_id": header.message_id,
            "timestamp_sec": header.timestamp_sec,
            "timestamp_nsec": header.timestamp_nsec,
            "robot_id": header.robot_id,
            "message_type": header.message_type,
            "priority": header.priority,
            "sequence": header.sequence,
        },
        "battery": message.battery,
        "robot_status": message.robot_status,
        "command": message.command,
        "error_message": message.error_message,
    }


class Gateway(Node):
    """The subscriber, its counts, and the file with one row a message."""

    def __init__(self, arguments: argparse.Namespace, log: TextIO) -> None:
        super().__init__("gateway_service")
        self.ai_url: str = arguments.ai_url
        self.web_url: str = arguments.web_url
        self.received = 0
        self.processed = 0
        self.failed = 0
        self.last_end_ns = time.monotonic_ns()
        self.log = log
        self.rows = csv.DictWriter(log, COLUMNS)
        self.rows.writeheader()
        self.topic = self.create_subscription(
            RobotMessage, "/robot_messages", self.on_message, qos_profile(arguments.qos))

    def on_message(self, message: RobotMessage) -> None:
        """Takes one message through both services; the clock starts here, at receipt."""
        received_ns = time.monotonic_ns()
        self.received += 1
        row: dict[str, Any] = {
            "sequence": message.header.sequence,
            "message_id": message.header.message_id,
            "received_mono_ns": received_ns,
        }
        try:
            row |= asyncio.run(self.process(message, received_ns))
            self.processed += 1
        except (httpx.HTTPError, ValueError, KeyError) as error:
            self.failed += 1
            row["error"] = repr(error)
        self.rows.writerow(row)
        self.log.flush()
        self.last_end_ns = time.monotonic_ns()

    async def process(self, message: RobotMessage, received_ns: int) -> dict[str, int]:
        """Calls the AI service, then the web service; returns the message's stages."""
        async with httpx.AsyncClient() as client:
            body = as_json(message)
            ai_sent_ns = time.monotonic_ns()
            reply = await client.post(f"{self.ai_url}/analyze", json=body)
            ai_answered_ns = time.monotonic_ns()
            analysis = reply.raise_for_status().json()
            web_sent_ns = time.monotonic_ns()
            reply = await client.post(f"{self.web_url}/broadcast",
                                      json={"message": body, "analysis": analysis})
            web_acked_ns = time.monotonic_ns()
            reply.raise_for_status()
        ai_ns = ai_answered_ns - ai_sent_ns
        web_ns = web_acked_ns - web_sent_ns
        total_ns = web_acked_ns - received_ns
        return {"ai_ns": ai_ns, "ai_served_ns": int(analysis["served_ns"]), "web_ns": web_ns,
                "overhead_ns": total_ns - ai_ns - web_ns, "total_ns": total_ns}

    def status(self) -> dict[str, Any]:
        """What the run needs to know: who is matched, what is done, how long it has been idle."""
        done = self.processed + self.failed
        busy = self.received > done
        return {
            "publishers": self.topic.get_publisher_count(),
            "received": self.received,
            "processed": self.processed,
            "failed": self.failed,
            "idle_s": 0.0 if busy else (time.monotonic_ns() - self.last_end_ns) / 1e9,
        }


def spin(gateway: Gateway) -> None:
    """Runs the callbacks until ROS is shut down."""
    try:
        rclpy.spin(gateway)
    except ExternalShutdownException:
        pass


def web_application(gateway: Gateway) -> FastAPI:
    """The gateway's own HTTP side; the ROS side spins in a thread beside it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        thread = threading.Thread(target=spin, args=(gateway,), daemon=True)
        thread.start()
        yield
        rclpy.try_shutdown()
        thread.join(timeout=10.0)

    application = FastAPI(title="gateway", lifespan=lifespan)

    @application.get("/status")
    async def status() -> dict[str, Any]:
        return gateway.status()

    return application


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--ai-url", default="http://127.0.0.1:5000")
    parser.add_argument("--web-url", default="http://127.0.0.1:8001")
    parser.add_argument("--qos", choices=QOS_NAMES, default="best-effort")
    parser.add_argument("--log", required=True, help="CSV file, one row a message")
    add_lifetime(parser)
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    limit_lifetime(arguments.lifetime)
    # uvicorn owns the signals: its shutdown ends the ROS side too.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    with open(arguments.log, "w", encoding="utf-8", newline="") as log:
        gateway = Gateway(arguments, log)
        try:
            uvicorn.run(web_application(gateway), host="127.0.0.1", port=arguments.port)
        except KeyboardInterrupt:
            pass  # uvicorn raises the signal again once it has shut down
        finally:
            gateway.destroy_node()
            rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
