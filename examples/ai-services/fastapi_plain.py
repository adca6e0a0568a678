"""The same without the lines that tell Hopwatch its own time: AI then includes transport.

    uvicorn fastapi_plain:app --port 5000
"""

from __future__ import annotations

from typing import Any

from fastapi import Body, FastAPI
from model import Model

app = FastAPI()
model = Model()


@app.get("/health")
def health() -> dict[str, str]:
    return {"status": "ok"}


# Not async: FastAPI runs it on a thread, so that the model holds up no other request.
@app.post("/analyze")
def analyze(message: Any = Body()) -> dict[str, Any]:
    label, score = model.infer(message)
    return {"label": label, "score": score}
