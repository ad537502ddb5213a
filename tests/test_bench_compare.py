"""What `make bench-compare` calls better, worse and the same."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.compare import compare, verdict

ROOT = Path(__file__).resolve().parent.parent


def row(what, unit, headrace, ratio=None, between=None, rounds=None):
    return {
        "what": what, "unit": unit, "headrace": headrace, "kafka": None, "ratio": ratio, "between": between,
        "rounds": [rounds or [headrace], []],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "old", "new", "wanted"),
    [
        ("MB/s", (1.0, 1.1, 1.2), (1.3, 1.4, 1.5), "better"),
        ("MB/s", (1.0, 1.1, 1.2), (1.2, 1.4, 1.5), "same"),
        ("s", (1.0, 1.1, 1.2), (1.3, 1.4, 1.5), "worse"),
        ("ms", (1.3, 1.4, 1.5), (1.0, 1.1, 1.2), "better"),
        ("requests/s", (2.0, 2.0, 2.0), (1.9, 1.9, 1.9), "worse"),
    ],
)
def test_only_what_lies_outside_of_the_rounds_counts(unit, old, new, wanted):
    assert verdict(unit, old, new) == wanted


def test_rows_are_compared_by_their_ratio_or_by_the_figure_and_none_is_left_out():
    old = [row("a", "MB/s", 100, 1.0, [0.9, 1.1]), row("b", "s", 2.0, rounds=[1.9, 2.0, 2.1]), row("c", "s", 1.0)]
    new = [row("a", "MB/s", 50, 1.3, [1.2, 1.4]), row("b", "s", 2.05, rounds=[2.05]), row("d", "s", 1.0)]
    assert compare(old, new)[2:] == [
        "| a | ratio | 1 (0.9 to 1.1) | 1.3 (1.2 to 1.4) | 1.30 | better |",
        "| b | s | 2 (1.9 to 2.1) | 2.05 | 1.02 | same |",
        "| d | | | 1 | | new |",
        "| c | | 1 | | | gone |",
    ]


@pytest.mark.process
def test_results_of_before_there_were_rounds_are_read(tmp_path):
    old = {"what": "a", "unit": "MB/s", "headrace": 1.0, "kafka": 1.0, "ratio": 1.0}
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"rows": [old]}))
    command = [sys.executable, "-m", "bench.compare", path, path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "| a | ratio | 1 | 1 | 1.00 | same |" in done.stdout
    command[-1] = tmp_path / "gone.json"
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, "gone.json" in done.stderr) == (2, True)
