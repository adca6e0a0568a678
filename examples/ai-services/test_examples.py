#!/usr/bin/env python3
"""The versions of each service differ in the lines for Hopwatch only, and do what they say."""

from __future__ import annotations

import difflib
import importlib.util
import json
import re
import socket
import subprocess
import sys
import time
import unittest
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
MESSAGE = {"header": {"sequence": 3}, "battery": "NaN", "values": [1, 2.5, True, None]}

# What a version with the lines has beyond the one without, documentation apart.
ONLY_THERE = {
    "fastapi": ["import time", "begun = …", 'response.headers["Server-Timing"] = …'],
    "flask": ["import time", "begun = …", 'response.headers["Server-Timing"] = …'],
    "axum/axum": ["use std::time::Instant;", "let begun = …", "let reply =", "([(…"],
}


def lines(path: Path) -> list[str]:
    """Code lines, with the name of the file and the argument that FastAPI needs left out."""
    text = path.read_text(encoding="utf-8").replace("response: Response, ", "")
    text = text.replace("import Body, FastAPI, Response\n", "import Body, FastAPI\n")
    text = re.sub(r'^""".*?"""', "", text, flags=re.DOTALL)
    return [line.strip() for line in text.splitlines() if not line.startswith("//!")]


class Versions(unittest.TestCase):
    def test_they_differ_in_the_lines_for_hopwatch_only(self) -> None:
        for name, expected in ONLY_THERE.items():
            suffix = ".rs" if "axum" in name else ".py"
            plain = lines(HERE / f"{name}_plain{suffix}")
            service = lines(HERE / f"{name}_service{suffix}")
            changes = [line for line in difflib.ndiff(plain, service) if line[0] in "+-"]
            self.assertEqual([line[0] for line in changes], ["+"] * len(expected), changes)
            for line, begin in zip(changes, expected):
                self.assertTrue(line[2:].startswith(begin.rstrip("…")), line)


@unittest.skipUnless(
    all(importlib.util.find_spec(name) for name in ("fastapi", "flask", "uvicorn")),
    "FastAPI and Flask aren't installed (requirements.txt)")
class Services(unittest.TestCase):
    def test_those_with_the_lines_tell_their_time(self) -> None:
        for name in ("fastapi", "flask"):
            for version in ("service", "plain"):
                with self.subTest(name=name, version=version):
                    timing, answer = self.asked(f"{name}_{version}")
                    self.assertEqual(set(answer), {"label", "score"})
                    if version == "plain":
                        self.assertIsNone(timing)
                    else:
                        self.assertRegex(timing or "", r"^infer;dur=\d+(\.\d+)?(e-\d+)?$")

    def asked(self, module: str) -> tuple[str | None, dict[str, object]]:
        """Starts a service, asks it once and ends it."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        command = ([sys.executable, "-m", "uvicorn", f"{module}:app", "--port", port]
                   if module.startswith("fastapi")
                   else [sys.executable, f"{module}.py", "--port", port])
        service = subprocess.Popen(command, cwd=HERE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/analyze", json.dumps(MESSAGE).encode(),
                {"content-type": "application/json"})
            # No proxy of the shell's.
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            deadline = time.monotonic() + 30
            while True:
                try:
                    with opener.open(request, timeout=10) as reply:
                        return reply.headers["server-timing"], json.load(reply)
                except OSError as error:
                    self.assertIsNone(service.poll(), f"{module} ended")
                    self.assertLess(time.monotonic(), deadline, f"{module}: {error}")
                    time.sleep(0.05)
        finally:
            service.terminate()
            service.wait(10)


if __name__ == "__main__":
    unittest.main()
