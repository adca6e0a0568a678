"""The stack's Python: a virtual environment of its own that also sees rclpy."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATE = HERE.parents[1] / ".hopwatch"
VENV = STATE / "python-stack"
REQUIREMENTS = HERE / "requirements.txt"

# Prints the folders that rclpy and what it needs lie in, then the interpreter's version.
FIND_ROS = """
import importlib.util, os, sys
found = []
for name in ("rclpy", "hopwatch_msgs", "numpy", "yaml"):
    spec = importlib.util.find_spec(name)
    if spec is None:
        sys.exit(f"no module {name}")
    folder = os.path.dirname(os.path.dirname(spec.origin))
    if folder not in found:
        found.append(folder)
print(*found, sep="\\n")
print(sys.version, file=sys.stderr)
"""


class EnvironmentFailure(Exception):
    """The stack can't be run here; the text says what is missing and what to do."""


def ros_environment() -> dict[str, str]:
    """This process's environment with ROS 2 in it, sourcing `.hopwatch/env.sh` if need be."""
    if "HOPWATCH_PYTHON" in os.environ:
        return dict(os.environ)
    script = STATE / "env.sh"
    if not script.is_file():
        raise EnvironmentFailure(
            "failed to find .hopwatch/env.sh: prepare the ROS environment first (./hopwatch)")
    sourced = subprocess.run(
        ["bash", "-c", 'source "$1" && env -0', "bash", str(script)],
        check=True, capture_output=True, text=True).stdout
    return dict(line.split("=", 1) for line in sourced.split("\0") if line)


def child_environment(ros: Mapping[str, str], domain: int) -> dict[str, str]:
    """What the stack's processes run with: ROS 2 kept to this machine and this domain.

    Proxies and certificate bundles of the shell are left out: every new HTTP client
    reads them, so they would change what is measured.
    """
    unwanted = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file",
                "ssl_cert_dir")
    kept = {name: value for name, value in ros.items() if name.lower() not in unwanted}
    return kept | {
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_DOMAIN_ID": str(domain),
        "PYTHONUNBUFFERED": "1",
    }


def prepared_python(ros: Mapping[str, str]) -> str:
    """The virtual environment's interpreter, making the environment if it isn't current."""
    python = ros["HOPWATCH_PYTHON"]
    found = subprocess.run([python, "-c", FIND_ROS], capture_output=True, text=True, env=dict(ros))
    if found.returncode != 0:
        raise EnvironmentFailure(
            f"failed to find rclpy with {python}: {found.stderr.strip()}; "
            "prepare the ROS environment first (./hopwatch)")
    key = hashlib.sha256("\0".join(
        [python, found.stdout, found.stderr, REQUIREMENTS.read_text()]).encode()).hexdigest()
    STATE.mkdir(exist_ok=True)
    with open(STATE / "python-stack.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = VENV / "hopwatch.stamp"
        if not stamp.is_file() or stamp.read_text() != key:
            make_venv(python, found.stdout, ros)
            stamp.write_text(key)  # last, so that a half-made one is made anew
    return str(VENV / "bin" / "python")


def make_venv(python: str, ros_folders: str, ros: Mapping[str, str]) -> None:
    """Makes the environment from nothing: the pinned wheels, then ROS 2 behind them."""
    print("preparing .hopwatch/python-stack", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    try:
        subprocess.run([python, "-m", "venv", str(VENV)], check=True, env=dict(ros))
        subprocess.run(
            [VENV / "bin" / "python", "-m", "pip", "install", "--quiet",
             "--disable-pip-version-check", "--only-binary", ":all:", "--no-deps",
             "--require-hashes", "-r", str(REQUIREMENTS)], check=True, env=dict(ros))
    except subprocess.CalledProcessError as error:
        raise EnvironmentFailure(f"failed to make .hopwatch/python-stack: {error}") from error
    # A .pth file puts ROS behind the pinned packages, where PYTHONPATH would put it
    # in front and let it hide them.
    packages = next((VENV / "lib").glob("python3*/site-packages"))
    (packages / "ros.pth").write_text(ros_folders)
