#!/usr/bin/env python3
"""A page without a browser: takes the broadcaster's feed and acknowledges each message.

    viewer.py wss://HOST:PORT/ws --ca CA.pem [--origin ORIGIN]

Ends when its connection does, or on SIGINT, with one JSON line: how many messages it saw.
"""
import argparse
import json
import os
import signal
import socket
import ssl
import struct
import sys
import time
from base64 import b64encode
from urllib.parse import urlsplit


def now() -> str:
    return str(time.monotonic_ns() - BEGAN)


BEGAN = time.monotonic_ns()


def connect(url: str, ca: str, origin: str):
    where = urlsplit(url)
    tcp = socket.create_connection((where.hostname, where.port), timeout=10)
    tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if where.scheme == "wss":
        tls = ssl.create_default_context(cafile=ca)
        tcp = tls.wrap_socket(tcp, server_hostname=where.hostname)
    key = b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {where.path} HTTP/1.1",
        f"host: {where.netloc}",
        "upgrade: websocket",
        "connection: upgrade",
        f"sec-websocket-key: {key}",
        "sec-websocket-version: 13",
    ]
    if origin:
        lines.append(f"origin: {origin}")
    tcp.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    stream = tcp.makefile("rb")
    status = stream.readline()
    if b" 101 " not in status:
        sys.exit(f"refused: {status.decode().strip()}")
    while stream.readline().strip():
        pass
    tcp.settimeout(None)
    return tcp, stream


def take(stream):
    """A frame's kind and bytes; None at the end. Frames come whole from the broadcaster."""
    head = stream.read(2)
    if len(head) < 2:
        return None
    length = head[1] & 0x7F
    if length == 126:
        (length,) = struct.unpack(">H", stream.read(2))
    elif length == 127:
        (length,) = struct.unpack(">Q", stream.read(8))
    return head[0] & 0x0F, stream.read(length)


def put(tcp, kind: int, data: bytes) -> None:
    mask = os.urandom(4)
    size = len(data)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
    tcp.sendall(bytes([0x80 | kind]) + length + mask + masked)


def main() -> int:
    parse = argparse.ArgumentParser()
    parse.add_argument("url")
    parse.add_argument("--ca")
    parse.add_argument("--origin", default="")
    asked = parse.parse_args()
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    tcp, stream = connect(asked.url, asked.ca, asked.origin)
    print(json.dumps({"connected": asked.url}), flush=True)
    messages = 0
    while (frame := take(stream)) is not None:
        kind, data = frame
        received = now()
        if kind == 8:
            break
        if kind == 9:
            put(tcp, 10, data)
        elif kind == 1 and (said := json.loads(data))["type"] == "message":
            messages += 1
            item = {"trace_id": said["trace_id"], "received_ns": received, "painted_ns": now()}
            ack = {"type": "ack", "sent_ns": now(), "resolution_ns": 1000, "items": [item]}
            put(tcp, 1, json.dumps(ack).encode())
    print(json.dumps({"messages": messages}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
