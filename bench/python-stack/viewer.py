"""A viewer in place of the web page: counts the messages that a WebSocket receives."""

from __future__ import annotations

import argparse
import json

from lifetime import add_lifetime, limit_lifetime
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="ws://127.0.0.1:8001/ws")
    parser.add_argument("--out", required=True, help="JSON file for the count")
    add_lifetime(parser)
    arguments = parser.parse_args()
    limit_lifetime(arguments.lifetime)
    sequences: list[int] = []
    try:
        with connect(arguments.url, proxy=None) as socket:
            for frame in socket:
                sequences.append(json.loads(frame)["message"]["header"]["sequence"])
    except (KeyboardInterrupt, ConnectionClosed):
        pass
    finally:
        with open(arguments.out, "w", encoding="utf-8") as out:
            json.dump({"received": len(sequences), "sequences": sequences}, out)


if __name__ == "__main__":
    main()
