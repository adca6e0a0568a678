"""The web service: takes analysed messages and broadcasts them to every WebSocket."""

from __future__ import annotations

import argparse
from typing import Any

import uvicorn
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from lifetime import add_lifetime, limit_lifetime


class Viewers:
    """The connected WebSockets."""

    def __init__(self) -> None:
        self.sockets: list[WebSocket] = []

    async def broadcast(self, message: dict[str, Any]) -> int:
        """Sends to all in turn; a viewer that has gone away is forgotten."""
        for socket in list(self.sockets):
            try:
                await socket.send_json(message)
            except (WebSocketDisconnect, RuntimeError):
                self.sockets.remove(socket)
        return len(self.sockets)


def web_application() -> FastAPI:
    application = FastAPI(title="web service")
    viewers = Viewers()

    @application.get("/health")
    async def health() -> dict[str, Any]:
        return {"status": "ok", "viewers": len(viewers.sockets)}

    @application.post("/broadcast")
    async def broadcast(message: dict[str, Any]) -> dict[str, int]:
        return {"viewers": await viewers.broadcast(message)}

    @application.websocket("/ws")
    async def watch(socket: WebSocket) -> None:
        await socket.accept()
        viewers.sockets.append(socket)
        try:
            while True:
                await socket.receive_text()
        except WebSocketDisconnect:
            if socket in viewers.sockets:
                viewers.sockets.remove(socket)

    return application


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8001)
    add_lifetime(parser)
    arguments = parser.parse_args()
    limit_lifetime(arguments.lifetime)
    try:
        uvicorn.run(web_application(), host="127.0.0.1", port=arguments.port)
    except KeyboardInterrupt:
        pass  # uvicorn raises the signal again once it has shut down


if __name__ == "__main__":
    main()
