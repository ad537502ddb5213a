"""read_committed: records of aborted transactions never come, from files and over the network; those of committed ones all do."""

import dataclasses
import random

import numpy as np
import pytest

import headrace.arrow
from headrace.arrow import transactions
from headrace.arrow.offset_range import OffsetRange
from headrace.arrow.planner import plan
from headrace.arrow.python_walk import is_aborted
from headrace.arrow.scan_options import ScanOptions
from headrace.arrow.transactions import NONE_ABORTED, aborted_in_fetch, aborted_in_files, aborted_table
from headrace.clock import SystemClock
from headrace.log.config import LogConfig
from headrace.log.index_layout import TXN_ENTRY, TXN_VERSION
from headrace.log.names import path_of, segment_bases
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.writing.log_environment import LogEnvironment
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol.apis import ApiKey
from headrace.protocol.compression import Codec
from headrace.protocol.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT, build_batch
from tests.arrow.range_reading import NAME, rows_of

ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"


class Transactions:
    """Producers of a topic; what each value's fate is, and the indexes that a node would have written."""

    def __init__(self, log, seed, steps=150):
        self.log, self.dice = log, random.Random(seed)
        log.create(*NAME)
        self.open = {}  # producer id -> (first offset, values)
        self.aborted = []  # (producer id, first, last)
        self.committed = []  # values that read_committed gives, by offset
        for step in range(steps):
            if step % 40 == 39:
                log.roll(NAME)
            self.step(step)
        self.stable = min([first for first, _values in self.open.values()], default=log.ends[NAME])
        self.committed = sorted(one for one in self.committed if one[0] < self.stable)
        assert len(self.aborted) > 5

    def step(self, step):
        producer_id = self.dice.randrange(4)
        start = self.log.ends[NAME]
        if producer_id == 3:  # one without transactions
            self.log.append(NAME, [(b"k", b"plain%d" % step)], producer_id=3, producer_epoch=0, base_sequence=0)
            self.committed.append((start, b"plain%d" % step))
        elif producer_id in self.open and self.dice.random() < 0.4:
            self.end(producer_id, self.dice.random() < 0.5)
        else:
            values = [b"%d.%d" % (step, index) for index in range(self.dice.choice([1, 3]))]
            codec = self.dice.choice([Codec.NONE, Codec.NONE, Codec.ZSTD])
            self.write(producer_id, values, codec, TRANSACTIONAL_BIT)
            kept = self.open.setdefault(producer_id, (start, []))[1]
            kept += [(start + index, value) for index, value in enumerate(values)]

    def write(self, producer_id, values, codec, attributes):
        records = [(b"k", value) for value in values]
        self.log.append(
            NAME,
            records,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            codec=codec,
            attributes=attributes,
        )

    def end(self, producer_id, aborts):
        marker, base = self.log.ends[NAME], segment_bases(self.log.partition_directory(NAME))[-1]
        key = ABORT if aborts else COMMIT
        self.log.append(
            NAME,
            [(key, b"\0" * 6)],
            producer_id=producer_id,
            producer_epoch=0,
            attributes=TRANSACTIONAL_BIT | CONTROL_BIT,
        )
        first, values = self.open.pop(producer_id)
        if not aborts:
            self.committed += values
            return
        self.aborted.append((producer_id, first, marker))
        stable = min([one for one, _values in self.open.values()], default=marker + 1)
        with open(path_of(self.log.partition_directory(NAME), base, ".txnindex"), "ab") as file:
            file.write(TXN_ENTRY.pack(TXN_VERSION, producer_id, first, marker, stable))

    def wanted(self, start, end):
        return [value for offset, value in self.committed if start <= offset < end]


def committed_range(broker, start, end):
    (one,) = plan(ScanOptions(broker.address, (NAME.topic,), read_committed=True))
    assert one.read_committed
    return dataclasses.replace(one, start=start, end=end)


def values_of(one):
    return [row["value"] for row in rows_of(one, ("value",))]


@pytest.mark.parametrize("seed", range(6))
def test_aborted_records_never_come_and_committed_ones_all_do(log, broker, remote_broker, seed):
    made = Transactions(log, seed)
    dice = random.Random(-seed)
    for start, end in [(0, made.stable), *(sorted(dice.sample(range(made.stable + 1), 2)) for _ in range(8))]:
        wanted = made.wanted(start, end)
        assert values_of(committed_range(broker, start, end)) == wanted
        remote_broker.aborted = [(pid, first) for pid, first, last in made.aborted if last >= start and first < end]
        assert values_of(committed_range(remote_broker, start, end)) == wanted
    assert broker.asked[ApiKey.FETCH] == 0
    assert remote_broker.asked[ApiKey.FETCH] > 0


def test_a_directory_as_a_node_writes_it(tmp_path):
    """Two producers, every third transaction aborted; a third producer's is open at the end."""
    clock = SystemClock()
    config, environment = LogConfig(segment_bytes=4000), LogEnvironment(clock)
    real = PartitionLog.open(tmp_path / str(NAME), NAME, config, LogCheckpoint(is_clean=True), environment)
    wanted, sequences = [], {1000: 0, 1001: 0, 1002: 0}

    def write(producer_id, value):
        one = build_batch(
            [(b"k", value)], timestamp_ms=clock.now_ms(), producer_id=producer_id, producer_epoch=3,
            base_sequence=sequences[producer_id], attributes=TRANSACTIONAL_BIT,
        )  # fmt: skip
        sequences[producer_id] += 1
        assert real.append_as_leader([memoryview(bytearray(one))], 5, clock.now_ms())[0][0] == 0

    for number in range(120):
        value = b"%03d" % number * 20
        write(1000 + number % 2, value)
        assert real.append_marker(1000 + number % 2, 3, 7, number % 3 == 0, 5, clock.now_ms())[0] == 0
        wanted += [] if number % 3 == 0 else [value]
    stable = real.log_end_offset
    write(1002, b"open")
    end = real.log_end_offset
    real.close()
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=0\ncluster.id=c\n")
    replicas = ((0, "127.0.0.1", str(tmp_path)),)
    one = OffsetRange(*NAME, 0, stable, "127.0.0.1:1", "c", replicas, read_committed=True, decided=end)
    assert len(segment_bases(tmp_path / str(NAME))) > 2
    assert values_of(one) == wanted
    assert values_of(dataclasses.replace(one, start=stable // 2)) == wanted[-len(wanted) // 2 :]


def test_read_uncommitted_gives_aborted_ones_too_and_markers_never(log, broker):
    made = Transactions(log, 1)
    (one,) = plan(ScanOptions(broker.address, (NAME.topic,)))
    found = rows_of(one, ("key", "value"))
    assert len(found) > len(made.committed) + len(made.aborted)
    assert {row["key"] for row in found} == {b"k"}


def test_a_reader_without_spark_reads_committed_ones(log, broker):
    made = Transactions(log, 2)
    ends = {0: made.stable}
    opened = headrace.arrow.open("clicks", bootstrap_servers=broker.address, end=ends, read_committed=True)
    assert opened.read_all()["value"].to_pylist() == made.wanted(0, made.stable)


def test_files_that_lack_the_markers_are_not_believed(log, broker):
    """A replica that was copied anew may have the records, and not yet the marker that aborts them."""
    made = Transactions(log, 3)
    broker.aborted = [(pid, first) for pid, first, _last in made.aborted]
    one = committed_range(broker, 0, made.stable)
    assert one.decided == log.ends[NAME]
    assert values_of(dataclasses.replace(one, decided=one.decided + 1)) == made.wanted(0, made.stable)
    assert broker.asked[ApiKey.FETCH] > 0


@pytest.mark.parametrize("damage", ["swap", "index", "moving"])
def test_files_in_motion_or_damaged_are_left_to_the_leader(log, broker, monkeypatch, damage):
    made = Transactions(log, 4)
    broker.aborted = [(pid, first) for pid, first, _last in made.aborted]
    directory = log.partition_directory(NAME)
    one = committed_range(broker, 0, made.stable)
    if damage == "swap":
        path_of(directory, 0, ".log.swap").touch()
    elif damage == "index":
        path = next(directory.glob("*.txnindex"))
        path.write_bytes(b"\0\7" + path.read_bytes()[2:])
    else:
        listings = iter([["a.log"], ["b.log"]] * 10)
        monkeypatch.setattr(transactions, "_listed", lambda _directory: next(listings))
    assert aborted_in_files(directory, 0, one.end, 0) is None
    assert values_of(one) == made.wanted(0, made.stable)
    assert broker.asked[ApiKey.FETCH] > 0


def test_indexes_that_were_read_before_the_files_reached_the_decision_are_not_believed(log, broker, monkeypatch):
    """A follower's: the abort marker and its entry come between the two looks."""
    made = Transactions(log, 3)
    directory, read = log.partition_directory(NAME), transactions._indexed

    def followed(*arguments):
        found = read(*arguments)
        log.append(NAME, [(b"k", b"the marker")])
        return found

    monkeypatch.setattr(transactions, "_indexed", followed)
    assert aborted_in_files(directory, 0, made.stable, log.ends[NAME] + 1) is None


def test_indexes_are_read_from_the_segment_of_the_start_until_they_say_that_nothing_more_matters(log, broker):
    made = Transactions(log, 5)
    directory = log.partition_directory(NAME)
    for start in (0, made.stable // 2, made.stable - 1):
        found = {tuple(map(int, one)) for one in aborted_in_files(directory, start, made.stable, 0).T}
        needed = {one for one in made.aborted if one[2] >= start and one[1] < made.stable}
        assert found == needed


def test_the_search_finds_the_transaction_of_a_producer_that_an_offset_lies_in():
    dice = random.Random(1)
    intervals = []
    for producer_id in (-1, 5, 2**62):
        cuts = sorted(dice.sample(range(1000), 40))
        intervals += [(producer_id, first, last) for first, last in zip(cuts[::2], cuts[1::2], strict=True)]
    dice.shuffle(intervals)
    table = aborted_table(intervals)
    for producer_id in (-1, 4, 5, 2**62):
        for offset in range(-1, 1001):
            wanted = any(one == producer_id and first <= offset <= last for one, first, last in intervals)
            assert is_aborted(table, producer_id, offset) == wanted
    assert not is_aborted(NONE_ABORTED, 5, 5)


def test_bytes_of_a_fetch_that_are_no_batches_are_for_the_walk_to_name():
    table = aborted_in_fetch(np.frombuffer(b"\7" * 100, np.uint8), [(1, 5)])
    assert table.T.tolist() == [[1, 5, 2**63 - 1]]
