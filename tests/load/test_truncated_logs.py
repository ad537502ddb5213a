"""Logs that lost records which were loaded, and partitions without a leader: what a load, a rewind and a table do."""

import json
import logging

import pytest

from headrace.arrow.errors import DataLoss
from headrace.client.cluster import Cluster
from headrace.errors import ErrorCode, KafkaError
from headrace.ids import TopicPartition
from headrace.load import live_table
from headrace.load.audit_report import audit
from headrace.load.contents import contents_of
from headrace.load.errors import OutOfRange, TopicReplaced
from headrace.load.loader import Loader
from headrace.load.options import LoadOptions
from headrace.load.parquet_target import ParquetTarget
from headrace.load.rewinding import rewind
from headrace.protocol.record_batch import Record
from tests.load.loading import InlineTasks, fill, load_inline, offsets_in


@pytest.fixture
def loaded(log, broker, tmp_path):
    """150 records, of which the last 50 are of epoch 1."""
    name = fill(log, count=100)
    fill(log, count=50)
    broker.epochs[name] = [(0, 0), (1, 100)]
    load_inline(broker, tmp_path / "out", group="group")
    return name


def cut(log, broker, name, grown=80):
    """The log loses its last 50 records, and grows again under a later leader."""
    log.cut(name, 100)
    broker.epochs[name] = [(0, 0), (4, 100)]
    fill(log, count=grown)


def load_at_once(broker, path, columns=None, **given):
    """Without pauses between tries."""
    options = LoadOptions(broker.address, "clicks|views", contents_of(columns, None, "fail"), **given)
    return Loader(options, ParquetTarget(path), sleep=lambda _s: None, executor=InlineTasks).run()


def test_the_epoch_of_the_last_record_is_in_the_commit_and_with_the_groups_offset(loaded, broker, tmp_path):
    assert ParquetTarget(tmp_path / "out").read().epochs() == {loaded: 1}
    assert broker.committed_epochs["group", loaded] == 1


def test_a_log_that_was_cut_and_grew_beyond_the_commit_is_refused(loaded, log, broker, tmp_path):
    cut(log, broker, loaded)
    with pytest.raises(
        OutOfRange, match=r"clicks-0: the last commit is at 150.* truncated.*from offset 100 on.*rewind"
    ):
        load_at_once(broker, tmp_path / "out")
    assert offsets_in(tmp_path / "out")["clicks", 0] == [*range(150)]


def test_other_partitions_are_loaded_before_it_is_refused_and_skip_leaves_it(loaded, log, broker, tmp_path):
    cut(log, broker, loaded)
    fill(log, "views", count=7)
    with pytest.raises(OutOfRange, match="truncated"):
        load_at_once(broker, tmp_path / "out")
    assert offsets_in(tmp_path / "out")["views", 0] == [*range(7)]
    fill(log, "views", count=7)
    load_at_once(broker, tmp_path / "out", out_of_range="skip")
    assert offsets_in(tmp_path / "out") == {("clicks", 0): [*range(150)], ("views", 0): [*range(14)]}


def test_a_table_that_was_taken_back_is_loaded_again_from_what_the_log_has(log, broker, tmp_path):
    name = fill(log, count=100)
    broker.epochs[name] = [(0, 0)]
    load_inline(broker, tmp_path / "out")
    fill(log, count=50)
    broker.epochs[name] = [(0, 0), (1, 100)]
    load_inline(broker, tmp_path / "out")
    cut(log, broker, name)
    assert rewind("clicks", tmp_path / "out", 100, bootstrap_servers=broker.address) == {name: 100}
    assert ParquetTarget(tmp_path / "out").read().epochs() == {name: 0}
    load_at_once(broker, tmp_path / "out")
    assert offsets_in(tmp_path / "out")["clicks", 0] == [*range(180)]
    assert ParquetTarget(tmp_path / "out").read().epochs() == {name: 4}
    assert audit(tmp_path / "out", is_deep=True).faults == []


def test_a_table_is_not_taken_back_where_the_topic_was_made_again(loaded, log, broker, tmp_path):
    load_at_once(broker, tmp_path / "out")
    broker.topic_ids = {"clicks": "ab" * 16}
    fill(log, count=10)
    load_at_once(broker, tmp_path / "out")  # it knows the id from now on
    broker.topic_ids = {"clicks": "cd" * 16}
    with pytest.raises(TopicReplaced, match=r"clicks was deleted.*Nothing was changed"):
        rewind("clicks", tmp_path / "out", "earliest", bootstrap_servers=broker.address)
    assert offsets_in(tmp_path / "out")["clicks", 0] == [*range(160)]


def test_a_topic_made_again_while_a_round_is_planned_is_not_loaded_as_the_one_before(
    loaded, log, broker, tmp_path, monkeypatch
):
    broker.topic_ids = {"clicks": "ab" * 16}
    fill(log, count=10)

    def made_again(cluster, *_arguments):
        broker.topic_ids = {"clicks": "cd" * 16}
        cluster.refresh(["clicks"])
        return {}

    monkeypatch.setattr("headrace.load.loader.changed_records", made_again)
    with pytest.raises(TopicReplaced, match="while a round of it was planned"):
        load_at_once(broker, tmp_path / "out")
    assert offsets_in(tmp_path / "out")["clicks", 0] == [*range(150)]


def test_a_later_leader_of_the_same_log_is_no_reason(loaded, log, broker, tmp_path):
    broker.epochs[loaded].append((7, 150))
    fill(log, count=10)
    assert load_at_once(broker, tmp_path / "out").records == 10
    broker.leader_epochs[loaded] = 9
    assert load_at_once(broker, tmp_path / "out").commits == 0
    assert ParquetTarget(tmp_path / "out").read().epochs() == {loaded: 7}


def test_commits_of_an_earlier_version_have_no_epochs_and_are_continued(loaded, log, broker, tmp_path):
    (path,) = (tmp_path / "out" / "_headrace").glob("0*.json")
    found = json.loads(path.read_text())
    assert found["offsets"]["clicks"].pop("epochs") == {"0": 1}
    path.write_text(json.dumps(found))
    assert ParquetTarget(tmp_path / "out").read().epochs() == {}
    fill(log, count=10)
    assert load_at_once(broker, tmp_path / "out").records == 10
    assert ParquetTarget(tmp_path / "out").read().epochs() == {loaded: 1}


@pytest.mark.parametrize("columns", [None, "value_length"])
def test_where_no_epoch_changed_the_last_record_itself_is_compared(log, broker, tmp_path, columns):
    name = fill(log, count=100)
    fill(log, count=50)
    load_at_once(broker, tmp_path / "out", columns)
    assert ParquetTarget(tmp_path / "out").read().epochs() == {}
    log.cut(name, 100)
    fill(log, count=80, step_ms=1001)
    with pytest.raises(OutOfRange, match="clicks-0: the log has another record at offset 149"):
        load_at_once(broker, tmp_path / "out", columns)
    assert load_at_once(broker, tmp_path / "out", columns, out_of_range="skip").records == 0
    assert rewind("clicks", tmp_path / "out", "earliest", bootstrap_servers=broker.address) == {name: 0}
    assert load_at_once(broker, tmp_path / "out", columns).records == 180


def test_a_last_record_with_another_value_is_another_record(log, broker, tmp_path):
    name = fill(log, count=10)
    load_at_once(broker, tmp_path / "out")
    log.cut(name, 0)
    fill(log, count=20, value=b"new %d")
    with pytest.raises(OutOfRange, match="another record at offset 9"):
        load_at_once(broker, tmp_path / "out")


@pytest.mark.parametrize("bad_times", ["dead", "null", "nearest"])
def test_a_last_record_without_a_time_that_the_table_holds_is_not_compared(log, broker, tmp_path, bad_times):
    name = fill(log, count=10)
    log.append(name, [Record(0, 2**62, b"k", b"v")])
    load_inline(broker, tmp_path / "out", bad_times=bad_times)
    fill(log, count=5)
    assert load_inline(broker, tmp_path / "out", bad_times=bad_times).records == 5


def test_a_last_record_that_retention_removed_is_not_compared(log, broker, tmp_path, caplog):
    name = fill(log, count=10)
    load_at_once(broker, tmp_path / "out")
    fill(log, count=5)
    log.starts[name] = 10
    assert load_at_once(broker, tmp_path / "out").records == 5
    assert caplog.text == ""


def test_a_last_record_that_is_gone_is_not_compared(log, broker, tmp_path):
    name = fill(log, count=10)
    load_at_once(broker, tmp_path / "out")
    log.cut(name, 0)
    log.ends[name] = 10  # its batch was compacted away
    fill(log, count=5)
    assert load_at_once(broker, tmp_path / "out").records == 5


def test_a_table_over_such_a_log_says_so(loaded, log, broker, tmp_path):
    table = live_table.table("clicks", history=tmp_path / "out", bootstrap_servers=broker.address)
    fill(log, count=5)
    assert table.read_all().num_rows == 155
    cut(log, broker, loaded)
    with pytest.raises(DataLoss, match=r"clicks-0 from 100 on"):
        table.read_all()


def test_partitions_without_a_leader_are_left_and_do_not_stop_the_others(log, broker, tmp_path, caplog):
    lost = fill(log, count=10)
    fill(log, "views", count=7)
    broker.leaders[lost] = -1
    with caplog.at_level(logging.WARNING):
        assert load_at_once(broker, tmp_path / "out", every_s=0.001, is_stopped=_after(3)).records == 7
    assert offsets_in(tmp_path / "out") == {("views", 0): [*range(7)]}
    assert caplog.text.count("1 partitions have no leader that responds") == 1
    del broker.leaders[lost]
    assert load_at_once(broker, tmp_path / "out").records == 10


def test_a_load_that_does_not_repeat_waits_for_a_leader_first(log, broker, tmp_path):
    lost = fill(log, count=10)
    fill(log, "views", count=7)
    broker.leaders[lost] = -1
    naps = []

    def nap(seconds):
        naps.append(seconds)
        if len(naps) == 3:
            del broker.leaders[lost]

    options = LoadOptions(broker.address, "clicks|views", contents_of(None, None, "fail"))
    done = Loader(options, ParquetTarget(tmp_path / "out"), sleep=nap, executor=InlineTasks).run()
    assert done.records == 17


@pytest.mark.parametrize("every_s", [None, 0.01])
def test_what_can_not_be_loaded_is_raised_when_all_others_are(loaded, log, broker, tmp_path, every_s):
    """Retention was faster in one partition, and a topic was made again."""
    path = tmp_path / "out"
    broker.topic_ids = {"views": "ab" * 16}
    fill(log, "views", count=7)
    load_at_once(broker, path)
    fill(log, count=30)
    log.starts[loaded] = 160
    fill(log, partition=1, count=5)
    broker.topic_ids = {"views": "cd" * 16}
    fill(log, "views", count=7)
    with pytest.raises((OutOfRange, TopicReplaced)) as failure:
        load_at_once(broker, path, every_s=every_s)
    assert "views was deleted and created again" in str(failure.value)
    assert "clicks-0: offsets 150..160 after the last commit" in str(failure.value)
    found = offsets_in(path)
    assert found == {("clicks", 0): [*range(150)], ("clicks", 1): [*range(5)], ("views", 0): [*range(7)]}


def test_where_a_partition_begins_is_committed_though_another_can_not_be_loaded(loaded, log, broker, tmp_path):
    """Else a load from the latest offset would begin later each time."""
    path = tmp_path / "out"
    fill(log, count=30)
    log.starts[loaded] = 160
    views = fill(log, "views", count=7)
    with pytest.raises(OutOfRange, match="clicks-0"):
        load_at_once(broker, path, start="latest")
    fill(log, "views", count=7)
    with pytest.raises(OutOfRange, match="clicks-0"):
        load_at_once(broker, path, start="latest")
    assert offsets_in(path)["views", 0] == [*range(7, 14)]
    assert ParquetTarget(path).read().next_offset(views) == 14


def test_a_commit_above_the_last_stable_offset_is_no_loss(loaded, log, broker, tmp_path):
    """It was read up to the high watermark, and is continued without records of open transactions."""
    path = tmp_path / "out"
    broker.stable[loaded] = 140
    assert load_at_once(broker, path, read_committed=True).commits == 0
    given = {"history": path, "bootstrap_servers": broker.address, "columns": "offset"}
    assert live_table.table("clicks", read_committed=True, **given).read_all().num_rows == 150
    fill(log, count=10)
    assert live_table.table("clicks", read_committed=True, **given).read_all().num_rows == 150
    assert live_table.table("clicks", read_committed=False, **given).read_all().num_rows == 160
    broker.stable[loaded] = 155
    assert load_at_once(broker, path, read_committed=True).records == 5
    log.cut(loaded, 100)
    with pytest.raises(OutOfRange, match="the last commit is at 155, the log ends at 100"):
        load_at_once(broker, path, read_committed=True)


@pytest.fixture
def late(log, broker, tmp_path):
    """A partition that came after the first load, and lost its first 50 records before the next one."""
    fill(log, count=10)
    load_at_once(broker, tmp_path / "out")
    for _ in range(2):
        name = fill(log, partition=1, count=50)
    log.starts[name] = 50
    return name


def test_what_a_later_partition_lost_before_its_first_load_is_an_error_or_a_gap(late, log, broker, tmp_path):
    path = tmp_path / "out"
    with pytest.raises(OutOfRange, match=r"clicks-1: offsets 0\.\.50 are no longer in the log"):
        load_at_once(broker, path)
    assert load_at_once(broker, path, out_of_range="skip").records == 0
    assert load_at_once(broker, path, out_of_range="earliest").records == 50
    assert offsets_in(path)["clicks", 1] == [*range(50, 100)]
    found = audit(path)
    assert ([one.gaps for one in found.partitions], found.faults) == ([(), ((0, 50),)], [])


def test_a_table_says_what_a_later_partition_lost(late, log, broker, tmp_path):
    found = live_table.table("clicks", history=tmp_path / "out", bootstrap_servers=broker.address)
    with pytest.raises(DataLoss, match=r"clicks-1 is newer than the last commit.*begins at 50"):
        found.read_all()
    log.starts[late] = 0
    assert found.read_all().num_rows == 110


@pytest.mark.parametrize(("start", "first"), [("latest", 100), ("earliest", 50), (70, 70)])
def test_a_partition_that_had_no_leader_at_the_first_load_begins_where_that_says(log, broker, tmp_path, start, first):
    path = tmp_path / "out"
    name = TopicPartition("clicks", 1)
    fill(log, count=10)
    for _ in range(2):
        fill(log, partition=1, count=50)
    log.starts[name] = 50
    broker.leaders[name] = 9
    load_at_once(broker, path, every_s=0.01, is_stopped=_after(3), start=start)
    assert ParquetTarget(path).read().offsets["clicks"].waiting == {1}
    fill(log, count=5)
    load_at_once(broker, path, every_s=0.01, is_stopped=_after(3), start=start)
    del broker.leaders[name]
    load_at_once(broker, path, start=start)
    fill(log, partition=1, count=5)
    load_at_once(broker, path, start=start)
    assert offsets_in(path)["clicks", 1] == [*range(first, 105)]
    after = ParquetTarget(path).read().offsets["clicks"]
    assert (after.next_offsets, after.waiting) == ({0: 15, 1: 105}, frozenset())


def test_where_no_leader_at_all_responds_the_load_fails(log, broker, tmp_path, monkeypatch):
    broker.leaders[fill(log, count=10)] = -1
    monkeypatch.setattr("headrace.arrow.planner.ATTEMPT_S", 0.01)
    with pytest.raises(KafkaError) as failure:
        load_inline(broker, tmp_path / "out")
    assert failure.value.code == ErrorCode.LEADER_NOT_AVAILABLE


def test_errors_of_one_partition_are_its_own_and_those_that_do_not_pass_are_raised(log, broker):
    name, other = fill(log, count=10), fill(log, "views", count=7)
    broker.leaders[name] = 9
    with Cluster(broker.address) as cluster:
        cluster.refresh(["clicks", "views"])
        found, failed = cluster.reachable_offsets({name: -1, other: -1})
        assert (found, failed.keys()) == ({other: 7}, {name})
        broker.fail[2, ErrorCode.TOPIC_AUTHORIZATION_FAILED] = 1
        with pytest.raises(KafkaError, match="views-0"):
            cluster.reachable_offsets({other: -1})
    assert TopicPartition("views", 0) == other


def _after(rounds):
    """True from the n-th time on that it is asked."""
    left = iter(range(rounds))
    return lambda: next(left, None) is None
