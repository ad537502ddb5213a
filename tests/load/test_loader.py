"""Loads of a log into a Parquet directory: each record once, whatever dies; what is refused."""

import pytest

from headrace.errors import ErrorCode, KafkaError
from headrace.load.audit_report import audit
from headrace.load.compaction import compact
from headrace.load.contents import contents_of
from headrace.load.errors import BrokenTarget, LoadFenced, OutOfRange, SchemaConflict, TopicReplaced
from headrace.load.history import dataset, dead_letters, files
from headrace.load.loader import Loader, load
from headrace.load.options import LoadOptions
from headrace.load.parquet_target import ParquetTarget
from headrace.load.targets import open_target
from headrace.spark.decoding import json
from headrace.spark.errors import UndecodableRecord
from tests.load.loading import HOUR_MS, T0, InlineTasks, fill, load_inline, load_until, offsets_in

STEPS = ("tasks done", "manifest written", "manifest linked", "manifest synced", "committed")


def test_a_topic_is_loaded_once_by_topic_and_hour_and_continued(log, broker, tmp_path):
    fill(log, count=100, step_ms=HOUR_MS // 40)
    fill(log, partition=1, count=3)
    fill(log, "views", count=5)
    target = tmp_path / "out"
    done = load_inline(broker, target, "clicks|views", records_per_task=30)
    assert (done.commits, done.records) == (1, 108)
    assert offsets_in(target) == {("clicks", 0): [*range(100)], ("clicks", 1): [0, 1, 2], ("views", 0): [*range(5)]}
    assert load_inline(broker, target, "clicks|views").commits == 0
    fill(log, count=50)
    assert load_inline(broker, target, "clicks|views").records == 50
    assert offsets_in(target)["clicks", 0] == [*range(150)]
    found = audit(target, is_deep=True)
    assert found.faults == []
    assert found.orphans == []
    assert found.records == 158
    assert all("/topic=clicks/hour=2023-11-1" in path or "/topic=views/hour=" in path for path in files(target))
    assert {row["value"] for row in dataset(target).to_table().to_pylist() if row["topic"] == "views"} == {
        b"%d" % number for number in range(5)
    }


def test_a_backlog_takes_several_commits_and_each_has_whole_ranges(log, broker, tmp_path):
    fill(log, count=100)
    fill(log, partition=1, count=20)
    seen = []
    options = {"records_per_commit": 30, "records_per_task": 7}
    done = load_inline(broker, tmp_path / "out", **options)
    assert done.commits > 3
    assert offsets_in(tmp_path / "out") == {("clicks", 0): [*range(100)], ("clicks", 1): [*range(20)]}
    assert seen == []


@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_dies_at_a_step_leaves_orphans_or_a_commit_and_the_next_load_is_exact(
    log, broker, tmp_path, step
):
    target = tmp_path / "out"
    fill(log, count=20)
    load_inline(broker, target)
    fill(log, count=30)
    assert load_until(broker, lambda at: ParquetTarget(target, at), step)
    is_committed = STEPS.index(step) >= STEPS.index("manifest linked")
    assert offsets_in(target)["clicks", 0] == [*range(50 if is_committed else 20)]
    assert bool(audit(target).orphans) == (not is_committed)
    load_inline(broker, target)
    assert offsets_in(target) == {("clicks", 0): [*range(50)]}
    found = audit(target)
    assert (found.faults, found.orphans) == ([], [])


def test_a_loader_that_was_overtaken_is_fenced_and_leaves_nothing(log, broker, tmp_path):
    fill(log, count=10)
    path = tmp_path / "out"

    def overtake(name):
        if name == "tasks done":
            load_inline(broker, path)

    with pytest.raises(LoadFenced, match="another loader committed first"):
        load_inline(broker, ParquetTarget(path, overtake))
    assert offsets_in(path) == {("clicks", 0): [*range(10)]}
    assert audit(path).orphans == []


def test_a_load_that_repeats_continues_after_it_was_fenced(log, broker, tmp_path):
    fill(log, count=10)
    path = tmp_path / "out"
    rounds = []

    def overtake(name):
        if name == "tasks done" and not rounds:
            rounds.append(name)
            load_inline(broker, path)

    def stopped():
        if rounds and len(log.ends) == 1:
            fill(log, partition=1, count=4)
        return offsets_in(path).get(("clicks", 1)) == [0, 1, 2, 3] if path.exists() and rounds else False

    load_inline(broker, ParquetTarget(path, overtake), every_s=0.01, is_stopped=stopped)
    assert offsets_in(path) == {("clicks", 0): [*range(10)], ("clicks", 1): [*range(4)]}


def test_records_that_are_gone_are_an_error_a_gap_or_left(log, broker, tmp_path):
    name = fill(log, count=10)
    path = tmp_path / "out"
    load_inline(broker, path)
    fill(log, count=10)
    fill(log, partition=1, count=2)
    log.starts[name] = 15
    with pytest.raises(OutOfRange, match=r"clicks-0: offsets 10\.\.15"):
        load_inline(broker, path)
    load_inline(broker, path, out_of_range="skip")
    assert offsets_in(path) == {("clicks", 0): [*range(10)], ("clicks", 1): [0, 1]}
    load_inline(broker, path, out_of_range="earliest")
    assert offsets_in(path)["clicks", 0] == [*range(10), *range(15, 20)]
    found = audit(path)
    assert found.faults == []
    assert [one.gaps for one in found.partitions] == [((10, 15),), ()]


def test_a_log_that_ends_before_the_last_commit_is_an_error_after_some_tries(log, broker, tmp_path):
    name = fill(log, count=10)
    load_inline(broker, tmp_path / "out")
    log.ends[name] = 4
    contents = ParquetTarget(tmp_path / "out")
    naps = []
    options = _options(broker)
    with pytest.raises(OutOfRange, match="clicks-0: the last commit is at 10, the log ends at 4"):
        Loader(options, contents, sleep=naps.append).run()
    assert len(naps) > 3


def test_a_topic_made_again_is_refused_or_loaded_beside_the_old_one(log, broker, tmp_path):
    name = fill(log, count=10)
    broker.topic_ids = {"clicks": "ab" * 16}
    path = tmp_path / "out"
    load_inline(broker, path)
    broker.topic_ids = {"clicks": "cd" * 16}
    with pytest.raises(TopicReplaced, match="deleted and created again"):
        load_inline(broker, path)
    load_inline(broker, path, recreated="load")
    assert offsets_in(path)["clicks", 0] == sorted([*range(10), *range(10)])
    assert audit(path).faults == []
    assert name in ParquetTarget(path).read().next_offsets()


@pytest.mark.parametrize(
    ("start", "first"), [("latest", 10), (4, 4), ("@" + str(T0 + 7000), 7), ("earliest", 0), (99, 10)]
)
def test_a_first_load_begins_where_it_is_told(log, broker, tmp_path, start, first):
    fill(log, count=10)
    load_inline(broker, tmp_path / "out", start=start)
    fill(log, count=5)
    load_inline(broker, tmp_path / "out", start="earliest")
    assert offsets_in(tmp_path / "out")["clicks", 0] == [*range(first, 15)]
    assert audit(tmp_path / "out").faults == []


def test_what_does_not_decode_fails_is_null_or_is_a_dead_letter_of_the_same_commit(log, broker, tmp_path):
    fill(log, count=4, value=b'{"page": "p%d"}')
    fill(log, count=2, value=b"bad %d")
    pages = json("page string")
    with pytest.raises(UndecodableRecord, match=r"offset 4.*decode mode null or dead loads the others"):
        load_inline(broker, tmp_path / "fail", decode=pages)
    load_inline(broker, tmp_path / "null", decode=pages, decode_mode="null")
    assert dataset(tmp_path / "null").to_table()["page"].to_pylist() == ["p0", "p1", "p2", "p3", None, None]
    done = load_inline(broker, tmp_path / "dead", decode=pages, decode_mode="dead")
    assert (done.records, done.dead_letters, done.commits) == (6, 2, 1)
    assert dataset(tmp_path / "dead").to_table()["page"].to_pylist() == ["p0", "p1", "p2", "p3"]
    letters = dead_letters(tmp_path / "dead").to_table().to_pylist()
    assert [(row["offset"], row["value"]) for row in letters] == [(4, b"bad 4"), (5, b"bad 5")]
    assert all("JSON" in row["reason"] for row in letters)
    found = audit(tmp_path / "dead")
    assert found.faults == []
    assert [(one.records, one.dead_letters) for one in found.hours] == [(6, 2)]


def test_columns_may_come_and_widen_and_nothing_else(log, broker, tmp_path):
    path = tmp_path / "out"
    fill(log, count=2, value=b'{"ms": %d}')
    load_inline(broker, path, decode=json("ms int"))
    fill(log, count=2, value=b'{"ms": %d, "page": "x"}')
    load_inline(broker, path, decode=json("ms long, page string"))
    table = dataset(path).to_table()
    assert table["ms"].to_pylist() == [0, 1, 2, 3]
    assert table["page"].to_pylist() == [None, None, "x", "x"]
    fill(log, count=1, value=b'{"ms": %d}')
    with pytest.raises(SchemaConflict, match="column ms: the table has int64, the load has string"):
        load_inline(broker, path, decode=json("ms string"))
    load_inline(broker, path, decode=json("ms int"))
    assert dataset(path).to_table()["page"].to_pylist() == [None, None, "x", "x", None]


def test_pauses_go_by_a_clock_that_nobody_sets(log, broker, tmp_path):
    fill(log, count=1)
    wall, steady = [1_700_000_000.0], [0.0]
    naps = []

    def nap(seconds):
        naps.append(seconds)
        steady[0] += seconds
        if len(naps) == 1:
            wall[0] -= 3600  # set back by an hour
            fill(log, count=1)

    options = LoadOptions(
        broker.address, "clicks", contents_of(None, None, "fail"), every_s=0.25, is_stopped=lambda: len(naps) > 5
    )
    target = ParquetTarget(tmp_path / "out")
    done = Loader(
        options, target, clock=lambda: wall[0], steady=lambda: steady[0], sleep=nap, executor=InlineTasks
    ).run()
    assert (done.commits, done.records) == (2, 2)
    assert steady[0] < 1


def test_that_no_topic_matches_is_said_once(log, broker, tmp_path, caplog):
    fill(log)
    rounds = iter(range(4))
    done = load_inline(broker, tmp_path / "out", "nosuch", every_s=0.001, is_stopped=lambda: next(rounds, 4) > 3)
    assert (done.records, done.has_topics) == (0, False)
    assert caplog.text.count("no topic matches 'nosuch'") == 1
    assert load_inline(broker, tmp_path / "out").has_topics


def test_topics_with_the_longest_names_are_loaded_and_merged(log, broker, tmp_path):
    name = "x" * 249
    for _ in range(2):
        fill(log, name, partition=10_000, count=3)
        load_inline(broker, tmp_path / "out", "x+")
    compact(tmp_path / "out")
    assert offsets_in(tmp_path / "out") == {(name, 10_000): [*range(6)]}
    found = audit(tmp_path / "out", is_deep=True)
    assert (found.faults, found.orphans) == ([], [])


def test_a_directory_that_is_not_ours_is_refused(log, broker, tmp_path):
    fill(log)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious.txt").write_text("x")
    with pytest.raises(BrokenTarget, match="is not empty and was not made by a load"):
        load_inline(broker, tmp_path / "out")
    with pytest.raises(FileNotFoundError, match="create it first"):
        load_inline(broker, tmp_path / "no" / "out")
    with pytest.raises(ValueError, match="target 's3://bucket/x'"):
        open_target("s3://bucket/x")


@pytest.mark.parametrize(
    "given",
    [
        {"out_of_range": "x"},
        {"recreated": "x"},
        {"compression": "x"},
        {"records_per_task": 0},
        {"workers": 0},
        {"every_s": 0.0},
        {"start": "soon"},
        {"start": -1},
        {"topics": "("},
    ],
)
def test_options_are_checked_before_anything_starts(broker, tmp_path, given):
    with pytest.raises(ValueError, match=next(iter(given))):
        load_inline(broker, tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_a_cluster_that_is_away_ends_one_load_and_not_one_that_repeats(log, broker, tmp_path):
    fill(log)
    broker.fail[3, ErrorCode.TOPIC_AUTHORIZATION_FAILED] = 1
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        load_inline(broker, tmp_path / "out")


def test_the_whole_api_with_workers_of_its_own_tells_progress(log, broker, tmp_path):
    fill(log, count=50)
    told = []
    done = load(
        ["clicks"],
        tmp_path / "out",
        bootstrap_servers=broker.address,
        records_per_task=25,
        workers=1,
        progress=told.append,
    )
    assert done.records == 50
    assert offsets_in(tmp_path / "out") == {("clicks", 0): [*range(50)]}
    assert [one.offsets_done for one in told] == [25, 50, 50]
    assert told[0].left_s is not None
    assert "25 of 50 offsets" in told[0].text()


def _options(broker):
    from headrace.load.contents import contents_of
    from headrace.load.options import LoadOptions

    return LoadOptions(broker.address, "clicks", contents_of(None, None, "fail"))
