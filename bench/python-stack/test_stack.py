"""Checks of the figures and of the comparisons; needs no ROS and takes a second.

    python3 -m unittest discover bench/python-stack
"""

from __future__ import annotations

import importlib.util
import json
import stat
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VERSUS = HERE.parent / "versus-python"
RECORDING_COST = HERE.parent / "recording-cost"
sys.path.insert(0, str(HERE))

import summary  # noqa: E402


def load(path: Path) -> Any:
    name = path.name.replace("-", "_")
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


class Quantiles(unittest.TestCase):
    def test_nearest_rank(self) -> None:
        for values, percent, expected in [
            ([7], 99, 7), ([1, 2], 50, 1), ([1, 2, 3], 50, 2), ([1, 2, 3, 4], 75, 3),
            (list(range(1, 101)), 99, 99), (list(range(1, 101)), 50, 50),
            (list(range(1, 59)), 99, 58), (list(range(1, 301)), 99, 297),
        ]:
            with self.subTest(n=len(values), percent=percent):
                self.assertEqual(summary.quantile_ns(values, percent), expected)

    def test_smallest_sample_with_a_bound(self) -> None:
        for percent, least in [(90, 29), (95, 59), (99, 299)]:
            self.assertFalse(summary.has_upper_bound(least - 1, percent))
            self.assertTrue(summary.has_upper_bound(least, percent))

    def test_description_of_nothing_and_of_one(self) -> None:
        self.assertEqual(summary.describe_ns([]), {"n": 0})
        self.assertIsNone(summary.describe_ns([5])["sd_ns"])

    def test_sums_are_made_a_message_at_a_time(self) -> None:
        rows = [{"sequence": 0, "received_mono_ns": 100, "ai_ns": 10, "ai_served_ns": 8,
                 "web_ns": 1, "overhead_ns": 9, "total_ns": 20},
                {"sequence": 1, "received_mono_ns": 200, "ai_ns": 15, "ai_served_ns": 14,
                 "web_ns": 2, "overhead_ns": 3, "total_ns": 20}]
        stages = summary.stages(rows, {0: 90, 1: 150})
        self.assertEqual(stages["communication"]["p99_ns"], 10)
        self.assertEqual(stages["communication_served"]["p50_ns"], 6)
        self.assertEqual(stages["total_from_publication"]["max_ns"], 70)


def stage(p50: int, p99: int) -> dict[str, int]:
    return {"n": 300, "p50_ns": p50, "p99_ns": p99}


class Comparison(unittest.TestCase):
    """The whole script, both stacks replaced by programs that only write their report."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def fake(self, name: str, files: dict[str, str], code: int = 0) -> Path:
        """A program that writes `files` into its --out and ends with `code`."""
        program = self.folder / name
        program.write_text(
            f"#!{sys.executable}\nimport pathlib, sys\n"
            "out = pathlib.Path(sys.argv[sys.argv.index('--out') + 1])\n"
            "out.mkdir(parents=True, exist_ok=True)\n"
            f"open({str(self.folder / 'calls')!r}, 'a').write({name!r} + '\\n')\n"
            f"for name, text in {files!r}.items(): (out / name).write_text(text)\n"
            f"sys.exit({code})\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return program

    def python(self) -> Path:
        return self.fake("python", {"python.json": json.dumps({
            "published": 300, "processed": 298,
            "stages": {"communication_served": stage(30_000_000, 60_000_000)}})})

    def hopwatch(self, communication: dict[str, Any] | None, traces: str = "",
                 code: int = 0) -> Path:
        lane = {"ledger": {"published": 300, "delivered": 300},
                "classes": {} if communication is None else {"communication": communication}}
        return self.fake("hopwatch", {
            "report.json": json.dumps({"lanes": [lane]}), "traces.csv": traces}, code)

    def versus(self, hopwatch: Path, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(VERSUS), "--quick", "--out", str(self.folder / "out"),
             "--hopwatch", str(hopwatch), "--python-stack", str(self.python()), *options],
            capture_output=True, text=True)

    def test_ratios_losses_and_order(self) -> None:
        done = self.versus(self.hopwatch(stage(500_000, 1_500_000)), "--require", "50,30")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        result = json.loads((self.folder / "out" / "result.json").read_text())
        self.assertEqual([row["ratio_p50"] for row in result["loads"]], [60.0, 60.0])
        self.assertEqual(result["loads"][0]["python"]["lost"], 2)
        self.assertTrue(result["passed"])
        self.assertIn(done.stdout.splitlines()[1], (self.folder / "out" / "result.md").read_text())
        self.assertEqual((self.folder / "calls").read_text().split(),
                         ["python", "hopwatch", "hopwatch", "python"])

    def test_unmet_requirement_is_exit_1(self) -> None:
        done = self.versus(self.hopwatch(stage(1_000_000, 1_500_000)), "--require", "50,30")
        self.assertEqual(done.returncode, 1)

    def test_unstable_report_is_worked_out_from_traces(self) -> None:
        traces = "total_ns,ai_ns\n10500,10000\n11500,10000\n,\n"
        done = self.versus(self.hopwatch({"n": 2, "p50_ns": None, "p99_ns": None}, traces, 3))
        self.assertEqual(done.returncode, 0, done.stderr)
        run = json.loads((self.folder / "out" / "result.json").read_text())["runs"][1]
        self.assertEqual((run["communication_p50_ns"], run["communication_p99_ns"], run["source"]),
                         (500, 1500, "traces.csv"))

    def test_failed_run_is_exit_2(self) -> None:
        done = self.versus(self.hopwatch(stage(1, 1), code=4))
        self.assertEqual(done.returncode, 2)
        self.assertIn("ended with 4", done.stderr)

    def test_rounds_give_medians(self) -> None:
        versus = load(VERSUS)
        outcomes = [versus.Outcome(stack, "load", number, 10, 9, 9, p50, p50 * 2, "test")
                    for stack, p50s in (("python", (30, 90, 60)), ("hopwatch", (1, 3, 2)))
                    for number, p50 in enumerate(p50s)]
        row = versus.compare(outcomes)[0]
        self.assertEqual((row["ratio_p50"], row["python"]["published"]), (30.0, 30))


class RecordingCost(unittest.TestCase):
    def setUp(self) -> None:
        self.cost = load(RECORDING_COST)

    def test_intervals_are_those_of_signed_ranks(self) -> None:
        # Tables of the exact test, 5 % two-sided: critical W is 0 at n = 6 and 8 at n = 10.
        for n, low, high in [(5, None, None), (6, 1.0, 6.0), (10, 3.0, 8.0)]:
            with self.subTest(n=n):
                found = self.cost.effect([float(i) for i in range(1, n + 1)])
                self.assertEqual((found.low, found.high), (low, high))

    def test_a_goal_wants_the_whole_interval(self) -> None:
        for low, high, verdict in [(-1, 1, "met"), (1, 3, "not resolved"), (2, 3, "missed"),
                                   (None, None, "too few rounds")]:
            self.assertEqual(self.cost.judged(self.cost.Effect(0, low, high), 2.0), verdict)

    def test_the_effect_is_of_one_round_and_the_control_of_nothing(self) -> None:
        def block(number: int, mode: str, more: float) -> Any:
            # Each start is slower than the one before: noise that pairs cancel.
            base = 100.0 * number
            cpu = {"gateway": base + more, "collector": 1.0, "broadcaster": 0.0}
            even = base + (10.0 * more if mode == "alternate" else 0.5)
            return self.cost.Block("load", number, mode, 9, (even, base), 1.0, cpu, 0.0)

        blocks = [block(number, mode, more) for number in range(6) for mode, more in
                  (("on", 5.0), ("off", 0.0), ("control", 2.0), ("alternate", 0.7))]
        row = self.cost.compare(blocks)[0]

        def bounds(name: str, of: str) -> tuple[float, float]:
            return (round(row[name][of]["low"], 6), round(row[name][of]["high"], 6))

        self.assertEqual(bounds("p50_us", "effect"), (7.0, 7.0))
        self.assertEqual(bounds("p50_us", "control"), (0.5, 0.5))
        self.assertEqual(bounds("all_cpu_percent", "effect"), (4.0, 4.0))
        self.assertEqual(bounds("gateway_cpu_percent", "control"), (2.0, 2.0))
        self.assertEqual((row["p50_us"]["verdict"], row["all_cpu_percent"]["verdict"]),
                         ("met", "missed"))
        self.assertLessEqual(max(map(len, self.cost.table([row]).splitlines())), 100)


if __name__ == "__main__":
    unittest.main()
