"""An AI service of FastAPI that tells Hopwatch its own time.

    uvicorn fastapi_service:app --port 5000
"""

from __future__ import annotations

import time
from typing import Any

from fastapi import Body, FastAPI, Response
from model import Model

app = FastAPI()
model = Model()


@app.get("/health")
def health() -> dict[str, str]:
    return {"status": "ok"}


# Not async: FastAPI runs it on a thread, so that the model holds up no other request.
@app.post("/analyze")
def analyze(response: Response, message: Any = Body()) -> dict[str, Any]:
    begun = time.perf_counter()
    label, score = model.infer(message)
    response.headers["Server-Timing"] = f"infer;dur={(time.perf_counter() - begun) * 1000}"
    return {"label": label, "score": score}
