"""A limit on how long a process of the stack lives, should nobody be left to stop it."""

from __future__ import annotations

import argparse
import os
import signal


def add_lifetime(parser: argparse.ArgumentParser) -> None:
    """Adds `--lifetime`, in seconds."""
    parser.add_argument("--lifetime", type=int, default=600, metavar="S",
                        help="stop by itself after S seconds (default %(default)s)")


def limit_lifetime(seconds: int) -> None:
    """Sends this process SIGINT after `seconds`, so that it ends the way it always does.

    SIGINT is made to work first: a process started in a shell's background has it ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.alarm(seconds)
