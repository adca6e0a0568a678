"""The same without the lines that tell Hopwatch its own time: AI then includes transport.

    python flask_plain.py --port 5000
"""

from __future__ import annotations

import argparse

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
    label, score = model.infer(message)
    response = jsonify(label=label, score=score)
    return response


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=5000)
    # Flask's own server, with a thread for each connection, which it keeps.
    app.run(host="127.0.0.1", port=parser.parse_args().port, threaded=True)
