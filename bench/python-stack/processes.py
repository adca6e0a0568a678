"""Starts, watches and stops the stack's processes."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any


class StackFailure(Exception):
    """A process of the stack didn't start, answer or end as it should."""


# Straight to 127.0.0.1, whatever proxies the shell has set.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get_json(url: str) -> dict[str, Any]:
    """One GET of a small JSON document."""
    with _direct.open(url, timeout=2.0) as reply:
        document: dict[str, Any] = json.load(reply)
        return document


def require_free_port(port: int) -> None:
    """Refuses a taken port: what answers there would be somebody else's service."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise StackFailure(f"port {port} is taken ({error}): choose another one") from error


def wait_until(what: str, condition: Callable[[], Any], timeout_s: float,
               interval_s: float = 0.1) -> Any:
    """Polls `condition` until it is truthy; on time-out says what it last saw."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            seen: Any = condition()
            if seen:
                return seen
        except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
            seen = error
        if time.monotonic() > deadline:
            raise StackFailure(f"{what}: not within {timeout_s:g} s, last seen: {seen!r}")
        time.sleep(interval_s)


class Stack:
    """The running processes, by name; used as a context manager, it stops them all."""

    def __init__(self, python: str, folder: Path, out: Path, environment: Mapping[str, str]
                 ) -> None:
        self.python = python
        self.folder = folder
        self.out = out
        self.environment = dict(environment)
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.stopped_by: dict[str, str] = {}
        self.logs: list[IO[str]] = []

    def __enter__(self) -> Stack:
        return self

    def __exit__(self, *_: object) -> None:
        for name in reversed(list(self.running)):
            self.stop(name)
        for log in self.logs:
            log.close()

    def start(self, name: str, script: str, arguments: Sequence[object]) -> None:
        """Starts `script`; its output goes to NAME.log.

        A session of its own keeps a Ctrl-C at the terminal from it: the run stops its
        processes itself, in order.
        """
        log = open(self.out / f"{name}.log", "w", encoding="utf-8")
        self.logs.append(log)
        self.running[name] = subprocess.Popen(
            [self.python, str(self.folder / script), *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, text=True,
            env=self.environment, start_new_session=True)

    def require_alive(self) -> None:
        """Fails if a process has ended though nobody stopped it."""
        for name, process in self.running.items():
            if process.poll() is not None:
                raise StackFailure(
                    f"{name} ended with {process.returncode}; its last words:\n{self.tail(name)}")

    def tail(self, name: str, lines: int = 10) -> str:
        text = (self.out / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def answers(self, url: str) -> Callable[[], dict[str, Any]]:
        """A condition for `wait_until`: `url` answers, and every process still lives."""
        def condition() -> dict[str, Any]:
            self.require_alive()
            return get_json(url)
        return condition

    def go(self, name: str) -> None:
        """Writes the line that `name` waits for on its standard input."""
        pipe = self.running[name].stdin
        if pipe is None:
            raise StackFailure(f"{name} has no standard input")
        pipe.write("go\n")
        pipe.flush()

    def wait_for_end(self, name: str, timeout_s: float) -> None:
        """Waits until `name` ends by itself, with success."""
        process = self.running[name]
        wait_until(f"{name} to end", lambda: process.poll() is not None, timeout_s)
        if process.returncode != 0:
            raise StackFailure(
                f"{name} ended with {process.returncode}; its last words:\n{self.tail(name)}")
        self.stopped_by[name] = "itself"
        del self.running[name]

    def stop(self, name: str) -> None:
        """SIGINT first: a DDS process that is killed leaves shared memory behind."""
        process = self.running.pop(name)
        if process.poll() is not None:
            self.stopped_by[name] = "itself"
            return
        for sent, patience_s in ((signal.SIGINT, 15.0), (signal.SIGTERM, 5.0),
                                 (signal.SIGKILL, 5.0)):
            process.send_signal(sent)
            try:
                process.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue
            self.stopped_by[name] = sent.name
            return
        raise StackFailure(f"failed to stop {name} (process {process.pid})")
