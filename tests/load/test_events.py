"""What a load says of itself to programs, also of rounds that fail; and its health file."""

import json
import logging

import pytest

from headrace.load.health_file import PROGRESS_EVERY_S, STALE_AFTER_S, HealthFile
from headrace.load.loader import load
from headrace.load.targets import open_target
from tests.load.loading import InlineTasks, fill
from tests.load.test_expiring import STEP_MS

COMMON = {"event", "time", "target"}
COMMIT = COMMON | {"commit", "reason", "records", "dead_letters", "files", "bytes", "gaps", "lag"}
OUTCOME = COMMON | {"commits", "records", "dead_letters", "state", "lag", "left", "duration_s", "error"}


@pytest.fixture
def loads(broker, tmp_path, monkeypatch):
    """A load with tasks in this process, and its events."""
    monkeypatch.setattr("headrace.load.loader.TaskPool", lambda job, run_id, *_given: InlineTasks(job, _Run(run_id)))
    events = []

    def run(to=tmp_path / "out", **given):
        events.clear()
        load("clicks", to, bootstrap_servers=broker.address, listener=events.append, **given)
        return events

    run.events = events
    return run


class _Run:
    def __init__(self, run_id):
        self.id = run_id


def test_a_load_says_its_commits_its_round_and_its_end(log, loads, tmp_path):
    fill(log, count=10)
    fill(log, partition=1, count=5)
    events = loads(records_per_commit=10, group="")
    kinds = [one["event"] for one in events if one["event"] != "progress"]
    assert kinds == ["commit", "commit", "round", "end"]
    assert "progress" in [one["event"] for one in events]
    commits = [one for one in events if one["event"] == "commit"]
    assert all(set(one) == COMMIT for one in commits)
    assert sum(one["records"] for one in commits) == 15
    assert [one["commit"] for one in commits] == [1, 2]
    assert commits[-1]["lag"] == {"clicks": 0} != commits[0]["lag"]
    done, end = events[-2:]
    assert set(done) == set(end) == OUTCOME
    assert (done["records"], done["state"], done["lag"], done["left"], done["error"]) == (
        15,
        "ok",
        {"clicks": 0},
        [],
        None,
    )
    assert (end["commits"], end["records"], end["target"]) == (2, 15, str(tmp_path / "out"))
    assert json.loads(json.dumps(events)) == events
    assert end["time"].endswith("Z")


def test_merges_and_expiries_are_commits_with_their_reason(log, loads):
    fill(log, count=10, step_ms=STEP_MS)
    loads(group="", records_per_task=2, compact_every=2, keep=86_400)
    reasons = [one["reason"] for one in loads.events if one["event"] == "commit"]
    assert reasons == ["load", "compact", "expire"]
    assert loads.events[-1]["records"] == 10, "that were loaded"


def test_a_round_that_fails_is_said_and_the_file_too(log, loads, broker, tmp_path, monkeypatch):
    health = tmp_path / "health.json"
    seen = []
    monkeypatch.setattr("headrace.load.loader.RETRY_S", 0.0)
    fill(log, count=3)

    def is_stopped():
        if health.exists():
            seen.append(json.loads(health.read_text()))
        return len([one for one in loads.events if one["event"] == "round"]) >= 4

    target = open_target(tmp_path / "out")
    commit, fails = target.commit, [True, False, True, False]

    def sometimes(change, expected):
        if fails.pop(0):
            from headrace.load.errors import TargetUnavailable

            raise TargetUnavailable("the catalog is away")
        return commit(change, expected)

    monkeypatch.setattr(target, "commit", sometimes)
    events = []
    load(
        "clicks",
        target,
        bootstrap_servers=broker.address,
        every_s=0.01,
        group="",
        is_stopped=lambda: is_stopped() or _grow(log, events),
        health_file=health,
        listener=lambda event: (events.append(event), loads.events.append(event)),
    )
    rounds = [(one["state"], (one["error"] or {}).get("type")) for one in events if one["event"] == "round"]
    assert rounds == [("failed", "TargetUnavailable"), ("ok", None), ("failed", "TargetUnavailable"), ("ok", None)]
    assert {one["state"] for one in seen} == {"ok", "failing"}
    last = json.loads(health.read_text())
    assert (last["state"], last["rounds"], last["failed_rounds"], last["lag"]) == ("stopped", 4, 0, {"clicks": 0})
    assert (last["last_error"]["type"], last["last_error"]["message"]) == ("TargetUnavailable", "the catalog is away")
    assert last["last_commit"]["commit"] == 2
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


def _grow(log, events):
    """A record more after each round that was right."""
    if events and events[-1]["event"] == "round" and events[-1]["state"] == "ok" and len(events) < 6:
        fill(log, count=1)
    return False


def test_a_load_that_ends_with_an_error_says_so(log, loads, tmp_path):
    fill(log, count=3)
    health = tmp_path / "health.json"
    with pytest.raises(KeyboardInterrupt):
        loads(group="", health_file=health, progress=_interrupt)
    assert [one["state"] for one in loads.events[-2:]] == ["failed", "failed"]
    found = json.loads(health.read_text())
    assert (found["state"], found["last_error"]["type"], found["last_commit"]) == ("failed", "KeyboardInterrupt", None)


def _interrupt(_now):
    raise KeyboardInterrupt


def event(kind, **more):
    return {"event": kind, "time": "t", "target": "x", **more}


def test_progress_is_written_now_and_then_and_a_file_that_can_not_be_written_is_a_warning(tmp_path, caplog):
    now = [0.0]
    path = tmp_path / "some" / "health.json"
    with pytest.raises(ValueError, match="is not a directory"):
        HealthFile(path, None)
    path.parent.mkdir()
    health = HealthFile(path, 60.0, steady=lambda: now[0])
    health(event("progress"))
    assert json.loads(path.read_text())["stale_after_s"] == STALE_AFTER_S + 60
    path.unlink()
    health(event("progress"))
    assert not path.exists()
    now[0] += PROGRESS_EVERY_S
    health(event("progress"))
    assert path.exists()
    path.unlink()
    path.parent.rmdir()
    with caplog.at_level(logging.WARNING):
        health(event("commit", commit=1, reason="load", records=1, lag=None))
        health(event("commit", commit=2, reason="load", records=1, lag=None))
    assert len(caplog.records) == 1
    path.parent.mkdir()
    health(event("commit", commit=3, reason="load", records=1, lag={"a": 1}))
    assert json.loads(path.read_text())["last_commit"]["commit"] == 3
