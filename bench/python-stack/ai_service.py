"""The AI service: a Flask application whose model is a sleep of fixed length."""

from __future__ import annotations

import argparse
import time

from flask import Flask, Response, jsonify, request
from lifetime import add_lifetime, limit_lifetime


def web_application(ai_s: float) -> Flask:
    """The service, "thinking" for `ai_s` seconds a message."""
    application = Flask("ai_service")

    @application.get("/health")
    def health() -> Response:
        return jsonify(status="ok")

    @application.post("/analyze")
    def analyze() -> Response:
        begun_ns = time.monotonic_ns()
        message = request.get_json()
        time.sleep(ai_s)
        verdict = "alert" if message["battery"] < 20.0 else "normal"
        # The service's own duration: what is left of the round trip is HTTP.
        return jsonify(verdict=verdict, confidence=0.95,
                       served_ns=time.monotonic_ns() - begun_ns)

    return application


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=5000)
    parser.add_argument("--ai-ms", type=float, default=1000.0, help="duration of one analysis")
    add_lifetime(parser)
    arguments = parser.parse_args()
    limit_lifetime(arguments.lifetime)
    # The built-in server, threaded: what `python ai_service.py` gives by default.
    web_application(arguments.ai_ms / 1000).run(
        host="127.0.0.1", port=arguments.port, threaded=True)


if __name__ == "__main__":
    main()
