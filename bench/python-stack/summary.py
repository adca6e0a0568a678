"""Figures of a run: quantiles and the stages of `python.json`."""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

PERCENTILES = (50, 75, 90, 95, 99)


def quantile_ns(ascending: Sequence[int], percent: int) -> int:
    """The smallest x with F(x) >= percent/100 (nearest rank, inverse ECDF).

    Always a value that was measured, never one between two.
    """
    rank = max(1, -(-len(ascending) * percent // 100))
    return ascending[rank - 1]


def describe_ns(values: Iterable[int]) -> dict[str, int | None]:
    """n, mean, sample standard deviation, extremes and percentiles, in ns."""
    ascending = sorted(values)
    n = len(ascending)
    if n == 0:
        return {"n": 0}
    described: dict[str, int | None] = {
        "n": n,
        "mean_ns": round(sum(ascending) / n),
        "sd_ns": round(statistics.stdev(ascending)) if n > 1 else None,
        "min_ns": ascending[0],
        "max_ns": ascending[-1],
    }
    return described | {f"p{p}_ns": quantile_ns(ascending, p) for p in PERCENTILES}


def has_upper_bound(n: int, percent: int, confidence: float = 0.95) -> bool:
    """Whether n samples have any upper confidence bound of the percentile (one-sided)."""
    return n > 0 and n >= math.log(1 - confidence) / math.log(percent / 100)


def read_published(path: Path) -> dict[int, int]:
    """Publication time (monotonic ns) of every published message, by sequence."""
    with open(path, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return {record["sequence"]: record["published_mono_ns"] for record in records}


def read_processed(path: Path) -> list[dict[str, int]]:
    """The rows of all messages that went the whole way."""
    with open(path, encoding="utf-8", newline="") as rows:
        return [{name: int(value) for name, value in row.items()
                 if name not in ("message_id", "error")}
                for row in csv.DictReader(rows) if not row["error"]]


def stages(rows: Sequence[Mapping[str, int]], published: Mapping[int, int]
           ) -> dict[str, dict[str, int | None]]:
    """Each stage described; sums are made a message at a time, since percentiles don't add."""
    series = {
        "ai": [row["ai_ns"] for row in rows],
        "ai_served": [row["ai_served_ns"] for row in rows],
        "transport": [row["web_ns"] for row in rows],
        "overhead": [row["overhead_ns"] for row in rows],
        "total": [row["total_ns"] for row in rows],
        "communication": [row["total_ns"] - row["ai_ns"] for row in rows],
        "communication_served": [row["total_ns"] - row["ai_served_ns"] for row in rows],
        "total_from_publication": [
            row["received_mono_ns"] + row["total_ns"] - published[row["sequence"]]
            for row in rows if row["sequence"] in published],
    }
    return {name: describe_ns(values) for name, values in series.items()}
