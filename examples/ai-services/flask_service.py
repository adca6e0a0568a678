"""An AI service of Flask that tells Hopwatch its own time.

    python flask_service.py --port 5000
"""

from __future__ import annotations

import argparse
import time

from flask import Flask, Response, jsonify, request
from model import Model

app = Flask(__name__)
model = Model()


@app.get("/health")
def health() -> Response:
    return jsonify(status="ok")


@app.post("/analyze")
def analyze() -> Response:
    message = request.get_json()
    begun = time.perf_counter()
    label, score = model.infer(message)
    response = jsonify(label=label, score=score)
    response.headers["Server-Timing"] = f"infer;dur={(time.perf_counter() - begun) * 1000}"
    return response


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=5000)
    # Flask's own server, with a thread for each connection, which it keeps.
    app.run(host="127.0.0.1", port=parser.parse_args().port, threaded=True)
