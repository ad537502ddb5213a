"""Whose files are removed, and whose are not."""

import fcntl
import json
import os
import time
from pathlib import Path

import pytest

from headrace.load import runs
from headrace.load.audit_report import audit
from headrace.load.commits import Change
from headrace.load.data_files import Attempt, attempt_of, file_name, found_files, hidden
from headrace.load.errors import LoadFenced
from headrace.load.orphans import orphans, remove_attempts, remove_retired, remove_uncommitted, sweep
from headrace.load.parquet_target import ParquetTarget
from headrace.load.runs import Run, other_runs
from tests.load.loading import fill, load_inline

OWN = "00000000"


@pytest.fixture
def target(log, broker, tmp_path):
    fill(log, count=10)
    load_inline(broker, tmp_path / "out")
    return ParquetTarget(tmp_path / "out")


def leave(target, run, number=0, is_hidden=False, age_s=0.0):
    """A file that nobody committed."""
    path = target.root / "topic=clicks" / "hour=2023-11-14-22" / file_name("clicks", 0, 10, 20, Attempt(run, number))
    path = hidden(path) if is_hidden else path
    path.write_bytes(b"x")
    then_s = time.time() - age_s
    os.utime(path, (then_s, then_s))
    return path


def dead_run(target, run="dddddddd", **identity):
    """The file of a loader of this host whose lock nobody holds."""
    made = Run(target.control)
    path = target.control / "runs" / made.id
    found = json.loads(path.read_text()) | identity
    made.close()
    (target.control / "runs" / run).write_text(json.dumps(found))
    return run


def test_names_tell_who_wrote_them():
    name = file_name("a-b-1", 2, 30, 45, Attempt("0123abcd", 31), 2)
    assert name == "a-b-1-2-30-45-0123abcd.1f.2.parquet"
    assert attempt_of(name) == attempt_of(f".{name}.tmp") == Attempt("0123abcd", 31)
    assert attempt_of("part-0000.parquet") is None


def test_of_a_long_topic_the_beginning_is_in_a_name_which_is_never_too_long():
    name = file_name("t" * 249, 10_000, 2**63 - 1, 2**63 - 1, Attempt("0123abcd", 2**50), 999_999)
    assert len(hidden(Path(name)).name) == 255
    assert attempt_of(name) == attempt_of(hidden(Path(name)).name) == Attempt("0123abcd", 2**50)


def test_files_of_a_loader_that_is_provably_dead_are_removed_at_once(target):
    run = dead_run(target)
    left = [leave(target, run), leave(target, run, 1, is_hidden=True)]
    kept = [path for path, _ in found_files(target.root) if path not in left]
    sweep(target, OWN, grace_s=1000)
    assert [path for path, _ in found_files(target.root)] == kept
    assert len(kept) == 1
    assert not (target.control / "runs" / run).exists()
    assert audit(target).orphans == []


def test_files_of_an_earlier_boot_of_this_host_are_removed(target):
    left = leave(target, dead_run(target, boot="another"))
    sweep(target, OWN, grace_s=1000)
    assert not left.exists()


@pytest.mark.parametrize(
    "identity",
    [
        {"host": "elsewhere"},
        {"is_local": False},
        {"boot": "another", "machine": "another"},  # of another host of that name
        {"boot": "another", "machine": ""},
    ],
)
def test_without_a_proof_only_age_removes_and_a_fence_comes_first(target, identity):
    run = dead_run(target, **identity)
    left = leave(target, run, age_s=50)
    before = target.read()
    assert sweep(target, OWN, grace_s=1000) == before
    assert left.exists()
    after = sweep(target, OWN, grace_s=10)
    assert not left.exists()
    assert after.number == before.number + 1
    assert after.files == before.files
    with pytest.raises(LoadFenced):  # the loader that was taken for dead, and wakes up
        ParquetTarget(target.root).commit(Change(run, 0, "load", before.offsets), before)


def test_a_lock_that_is_held_is_of_a_loader_that_lives_whatever_its_file_says(target):
    alive = Run(target.control)
    path = target.control / "runs" / alive.id
    path.write_text(json.dumps(json.loads(path.read_text()) | {"boot": "another"}))
    left = leave(target, alive.id)
    sweep(target, OWN, grace_s=1000)
    assert left.exists()
    alive.close()


def test_where_a_machine_has_no_id_another_boot_is_no_proof(target, monkeypatch):
    monkeypatch.setattr(runs, "MACHINE_IDS", (Path("/nowhere"),))
    left = leave(target, dead_run(target, boot="another"))
    sweep(target, OWN, grace_s=1000)
    assert left.exists()


def test_a_loader_that_is_alive_keeps_its_files_until_they_are_old(target):
    alive = Run(target.control)
    left = leave(target, alive.id)
    sweep(target, OWN, grace_s=1000)
    assert left.exists()
    with other_runs(target.control, OWN) as others:
        assert [(one.id, one.is_dead) for one in others] == [(alive.id, False)]
    alive.close(keeps_file=True)
    sweep(target, OWN, grace_s=1000)
    assert not left.exists()


def test_files_of_a_loader_that_ended_in_order_stay_for_their_commit_is_what_is_missing(target, caplog):
    left = leave(target, "cccccccc", age_s=5000)
    sweep(target, OWN, grace_s=1000)
    assert left.exists()
    assert "no commit names them" in caplog.text
    assert audit(target).orphans == [str(left.relative_to(target.root))]


def test_only_one_loader_at_a_time_cleans_up(target):
    run = dead_run(target)
    with other_runs(target.control, OWN) as first, other_runs(target.control, "11111111") as second:
        assert [one.is_dead for one in first] == [True]
        assert [one.is_dead for one in second] == [False]
    assert run


def test_a_spoilt_file_of_a_loader_proves_nothing(target):
    (target.control / "runs" / "eeeeeeee").write_text("{")
    left = leave(target, "eeeeeeee")
    sweep(target, OWN, grace_s=1000)
    assert left.exists()
    assert orphans(target) == [str(left.relative_to(target.root))]


def test_own_attempts_that_died_and_rounds_that_failed(target):
    dead, done = leave(target, "aaaaaaaa", 1, is_hidden=True), leave(target, "aaaaaaaa", 2)
    assert remove_attempts(target.root, [Attempt("aaaaaaaa", 1)]) == 1
    assert not dead.exists()
    assert done.exists()
    assert remove_uncommitted(target, "aaaaaaaa") == 1
    assert not done.exists()
    assert remove_attempts(target.root, []) == 0
    assert len(target.read().files) == len(found_files(target.root)) == 1


def test_removed_files_stay_for_readers_for_a_while(log, broker, target):
    from headrace.load.rewinding import rewind

    [path] = [target.root / name for name in target.read().files]
    rewind("clicks", target, 0, bootstrap_servers=broker.address)
    snapshot = target.read()
    assert remove_retired(target, snapshot, 1000) == 0
    assert path.exists()
    assert audit(target).orphans == []
    assert remove_retired(target, snapshot, 1000, time.time() + 2000) == 1
    assert not path.exists()


def test_the_lock_is_held_before_the_name_is_there(target):
    run = Run(target.control)
    with open(target.control / "runs" / run.id) as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    run.close()
    assert not (target.control / "runs" / run.id).exists()
