#!/usr/bin/env python3
"""Runs a program in a time namespace of its own: another monotonic clock on the same machine.

    in_time_namespace.py SECONDS PROGRAM [ARGUMENT…]

CLOCK_MONOTONIC and CLOCK_BOOTTIME of the program and its children are SECONDS ahead of the
machine's; the wall clock is the machine's. Needs CAP_SYS_ADMIN. SIGINT and SIGTERM are passed on,
and the exit code is the program's.
"""
import ctypes
import os
import signal
import sys

CLONE_NEWTIME = 0x00000080


def main() -> int:
    seconds, program = int(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWTIME) != 0:
        raise OSError(ctypes.get_errno(), "a time namespace can't be made")
    # Offsets are set before the first process enters: the next child is that one.
    with open("/proc/self/timens_offsets", "w", encoding="ascii") as offsets:
        offsets.write(f"monotonic {seconds} 0\nboottime {seconds} 0\n")
    child = os.fork()
    if child == 0:
        os.execvp(program[0], program)
    for which in (signal.SIGINT, signal.SIGTERM):
        signal.signal(which, lambda number, _frame: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
