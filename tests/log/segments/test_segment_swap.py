"""The swap of compacted segments: killed at every system call, in the swap and again in the recovery of it; and a power loss at
each, after which names that were not synced are as they were before or after, in any mix.
"""

import os
import random
import shutil

import pytest

from headrace.log.compaction.cleaned_segment import remove_cleaned
from headrace.log.compaction.compaction_plan import Swap
from headrace.log.config import LogConfig
from headrace.log.disk import Disk
from headrace.log.group_file import encode_group, read_group
from headrace.log.names import path_of
from headrace.log.reading.reader import LogReader
from headrace.log.segments.segment_swap import finish_swaps
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol.record_batch import iterate_batches
from tests.support.compaction_fixtures import batches_of, compaction_of, keyed, run, write_segments
from tests.support.fake_clock import NOW_MS
from tests.support.faulty_disk import FaultyDisk
from tests.support.log_fixtures import LogMaker, batch

pytestmark = pytest.mark.slow

SEEDS = int(os.environ.get("SWAP_SEEDS", "1"))  # of each power loss; make heavy: 4
CONFIG = LogConfig(is_compacted=True, index_interval_bytes=200)
SEGMENTS = [
    [keyed(3 * number, *[(b"%d" % (key % 7), b"v" * 100) for key in range(3 * number, 3 * number + 3)])]
    for number in range(10)
]
# The last segment supersedes the end of the group before it, so that nothing is left there.
WITHOUT_ENDS = [*SEGMENTS[:-1], [keyed(27, *[(b"%d" % key, b"w" * 100) for key in (3, 4, 5)])]]
WITHOUT_ENDS_CONFIG = LogConfig(is_compacted=True, index_interval_bytes=200, segment_bytes=9 * len(SEGMENTS[0][0]))
KINDS = {
    "a group": (SEGMENTS, CONFIG, [0, 30]),
    "a group whose end goes": (WITHOUT_ENDS, WITHOUT_ENDS_CONFIG, [0, 27, 30]),
}


class Killed(BaseException):
    pass


class MortalDisk(Disk):
    """Dies at its n-th change of a directory, before or after it was made."""

    def __init__(self, calls_left, is_after=False):
        self.calls_left = calls_left
        self.is_after = is_after

    def _call(self, method, *arguments):
        self.calls_left -= 1
        if self.calls_left < 0 and not self.is_after:
            raise Killed
        method(*arguments)
        if self.calls_left < 0:
            raise Killed

    def rename(self, source, target):
        self._call(super().rename, source, target)

    def link(self, source, target):
        self._call(super().link, source, target)

    def unlink(self, path):
        self._call(super().unlink, path)

    def sync_directory(self, directory):
        self._call(super().sync_directory, directory)


def opened(maker, disk=None, **how):
    maker.disk = disk or Disk()
    return maker.open(CONFIG, **how)


def prepared(directory, kind="a group"):
    """A log of ten segments and one active, its compaction written and not swapped; (maker, log, swap)."""
    segments, config, _bases = KINDS[kind]
    maker = LogMaker(directory)
    write_segments(maker.directory, *segments)
    log = opened(maker)
    log.roll_if_older(2**62)
    (path_of(maker.directory, 0, ".txnindex")).write_bytes(b"")
    swap = next(step for step in compaction_of(log, config).steps() if isinstance(step, Swap))
    return maker, log, swap


def state(directory):
    return [(header, tuple(records)) for header, records in batches_of(directory)]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def states(tmp_path_factory, kind):
    """What the log holds before and after."""
    maker, log, swap = prepared(tmp_path_factory.mktemp("reference"), kind)
    before = state(maker.directory)
    assert log.swap_segments(swap.segments, log.segments_version)
    assert log.segment_bases == KINDS[kind][2]
    after = state(maker.directory)
    assert before != after
    return before, after


def calls_of_a_swap(directory, kind):
    disk = MortalDisk(1000)
    _maker, log, swap = prepared(directory, kind)
    log.segments._disk = disk
    assert log.swap_segments(swap.segments, log.segments_version)
    return 1000 - disk.calls_left


def test_killed_anywhere_the_log_opens_as_it_was_or_as_it_is_to_be(tmp_path, states, kind):
    before, after = states
    count = calls_of_a_swap(tmp_path / "count", kind)
    assert count > 30
    outcomes = []
    for is_after in (False, True):
        for number in range(count):
            maker, log, swap = prepared(tmp_path / f"{number}-{is_after}", kind)
            log.segments._disk = MortalDisk(number, is_after)
            with pytest.raises(Killed):
                log.swap_segments(swap.segments, log.segments_version)
            log.abandon()
            again = opened(maker, clean=False, recovery_point=30)
            found = state(maker.directory)
            assert found in (before, after), number
            outcomes.append(found == after)
            assert again.segment_bases == (KINDS[kind][2] if found == after else [*range(0, 30, 3), 30])
            assert again.size_bytes == sum(path.stat().st_size for path in maker.directory.glob("*.log"))
            assert not list(maker.directory.glob("*.swap*"))
            assert {path.stem for path in maker.directory.glob("*.index")} == {
                path.stem for path in maker.directory.glob("*.log")
            }
            again.append_as_leader([batch()], 0, NOW_MS)
            again.abandon()
            shutil.rmtree(tmp_path / f"{number}-{is_after}")
    assert True in outcomes
    assert False in outcomes


class LastNames(FaultyDisk):
    """Dies at its n-th change of a directory or sync, as `MortalDisk`, and knows what was synced by then."""

    def __init__(self, calls_left):
        super().__init__()
        self.calls_left = calls_left

    def _step(self):
        self.calls_left -= 1
        if self.calls_left < 0:
            raise Killed

    def rename(self, source, target):
        self._step()
        super().rename(source, target)

    def link(self, source, target):
        self._step()
        super().link(source, target)

    def unlink(self, path):
        self._step()
        super().unlink(path)

    def sync_directory(self, directory):
        self._step()
        super().sync_directory(directory)


def test_a_power_loss_at_any_call_leaves_the_log_as_it_was_or_as_it_is_to_be(tmp_path, states, kind):
    """In the swap, and again in the recovery of it."""
    before, after = states
    count = calls_of_a_swap(tmp_path / "count", kind)
    outcomes = []
    for seed in range(SEEDS):
        for number in range(count + 1):
            chance = random.Random(seed * 1000 + number)
            maker, log, swap = prepared(tmp_path / f"{seed}-{number}", kind)
            disk = LastNames(number)
            disk.settle(maker.directory)  # the housekeeper synced it all
            log.segments._disk = disk
            try:
                log.swap_segments(swap.segments, log.segments_version)
            except Killed:
                pass
            log.abandon()
            disk.crash(maker.directory, chance)
            disk.calls_left = chance.randrange(40)
            try:
                finish_swaps(maker.directory, disk)
            except Killed:
                disk.crash(maker.directory, chance)
            disk.calls_left = 1000
            again = opened(maker, disk, clean=False, recovery_point=30)
            found = state(maker.directory)
            assert found in (before, after), (seed, number)
            assert again.segment_bases == (KINDS[kind][2] if found == after else [*range(0, 30, 3), 30])
            outcomes.append(found == after)
            again.abandon()
            disk.close()
            shutil.rmtree(tmp_path / f"{seed}-{number}")
    assert {True, False} == set(outcomes)


def test_killed_in_the_recovery_of_a_kill_as_well(tmp_path, states, kind):
    before, after = states
    count = calls_of_a_swap(tmp_path / "count", kind)
    for number in range(0, count, 3):
        maker, log, swap = prepared(tmp_path / str(number), kind)
        log.segments._disk = MortalDisk(number)
        with pytest.raises(Killed):
            log.swap_segments(swap.segments, log.segments_version)
        log.abandon()
        for again in range(count):
            try:
                finish_swaps(maker.directory, MortalDisk(again))
            except Killed:
                continue
            break
        assert state(maker.directory) in (before, after)
        assert not list(maker.directory.glob("*.swap*"))


@pytest.mark.parametrize("how", [{"clean": True, "recovery_point": 30}, {"recovery_point": 0}, {"trusted": (30, 0)}])
def test_every_way_of_opening_finishes_a_swap(tmp_path, states, kind, how):
    maker, log, swap = prepared(tmp_path, kind)
    log.segments._disk = MortalDisk(8)
    with pytest.raises(Killed):
        log.swap_segments(swap.segments, log.segments_version)
    log.abandon()
    opened(maker, **{"clean": False, "recovery_point": 0, **how})
    assert state(maker.directory) == states[1]


def test_readers_find_every_record_at_every_step_of_a_swap(tmp_path, states, kind):
    """With a list from before, and with a new one: no offset that stays is missed, and none comes twice."""
    _before, after = states
    survivors = [record.offset for _, records in after for record in records]
    maker, log, swap = prepared(tmp_path, kind)
    old = LogReader(maker.directory)
    old.refresh(log.segments_version)

    def read_all(reader):
        offsets, position = [], 0
        while True:
            found = reader.locate(position, 1 << 20, log.end_segment, log.end_position, at_least_one=True)
            if found is None:
                return offsets
            data = os.pread(found.fd, found.length, found.position)
            for _place, header, _batch in iterate_batches(data):
                if header.last_offset >= position:
                    offsets += [record.offset for record in records_in(data, header, position)]
                    position = header.last_offset + 1

    def records_in(data, header, position):
        from headrace.protocol.record_batch import iterate_records

        for _place, one, batch_bytes in iterate_batches(data):
            if one == header:
                return [record for record in iterate_records(batch_bytes) if record.offset >= position]
        return []

    class WatchedDisk(Disk):
        def rename(self, source, target):
            super().rename(source, target)
            look()

        def link(self, source, target):
            super().link(source, target)
            look()

        def unlink(self, path):
            super().unlink(path)
            look()

    looks = []

    def look():
        fresh = LogReader(maker.directory)
        fresh.refresh(1)
        stale = LogReader(maker.directory)
        stale._bases, stale._version = list(range(0, 31, 3)), 1
        for reader in (fresh, stale, old):
            offsets = read_all(reader)
            assert offsets == sorted(set(offsets))
            assert set(survivors) <= set(offsets)
            looks.append(len(offsets))

    log.segments._disk = WatchedDisk()
    assert log.swap_segments(swap.segments, log.segments_version)
    assert len(looks) > 60


def test_a_repeated_or_outdated_request_changes_nothing(tmp_path):
    maker, log, swap = prepared(tmp_path)
    for wrong in (
        swap.segments[1:],  # no .cleaned files for these
        [(0, swap.segments[0][1] + 1)],
        [*swap.segments, (30, 0)],  # the active one
        [swap.segments[0], swap.segments[2]],  # a gap
        [(5, 100)],
        [(99, 100)],
    ):
        assert not log.swap_segments(wrong, log.segments_version)
    version = log.segments_version
    assert log.swap_segments(swap.segments, log.segments_version)
    assert log.segments_version > version
    version, found = log.segments_version, state(maker.directory)
    assert not log.swap_segments(swap.segments, log.segments_version)
    assert (log.segments_version, state(maker.directory)) == (version, found)


def test_the_log_may_lose_segments_while_it_is_compacted(tmp_path):
    _maker, log, swap = prepared(tmp_path)
    log.advance_log_start(log.segment_bases[2])
    log.delete_segments(2)
    assert not log.swap_segments(swap.segments, log.segments_version)
    again = run(log, compaction_of(log, CONFIG))
    assert again.stats.records_read == 24
    assert log.segment_bases == [6, 30]


def test_cleaned_files_without_a_request_are_garbage(tmp_path):
    maker, log, _swap = prepared(tmp_path)
    before = state(maker.directory)
    log.abandon()
    again = opened(maker)
    assert state(maker.directory) == before
    assert [path.name for path in maker.directory.glob("*.swap")] == []
    assert remove_cleaned(maker.directory, Disk()) == 1
    assert not again.swap_segments([(0, path_of(maker.directory, 0, ".log").stat().st_size)], again.segments_version)


def test_appends_go_on_between_the_steps_of_a_compaction(tmp_path):
    maker, log, _swap = prepared(tmp_path)
    config = LogConfig(is_compacted=True, segment_bytes=400)
    log.config = config

    def append(_step):
        log.append_as_leader([batch(timestamp_ms=NOW_MS)], 0, NOW_MS)

    run(log, compaction_of(log, config), append)
    found = [record.offset for _, records in batches_of(maker.directory) for record in records]
    assert found == sorted(set(found))
    assert set(range(30, log.log_end_offset)) <= set(found)
    log.abandon()
    assert opened(maker).log_end_offset == log.log_end_offset


def test_a_compaction_from_before_the_log_was_opened_is_refused(tmp_path):
    """Or cut: what superseded a record may be gone."""
    maker, log, swap = prepared(tmp_path)
    version = log.segments_version
    log.abandon()
    maker.clock.ms += 1
    again = opened(maker)
    assert not again.swap_segments(swap.segments, version)
    _maker, log, swap = prepared(tmp_path / "another")
    assert log.swap_segments(swap.segments, log.segments_version)


def test_what_a_housekeeper_left_is_removed_unless_its_swap_has_begun(tmp_path):
    maker, _log, swap = prepared(tmp_path)
    swap_name = path_of(maker.directory, 0, ".log.swap")
    path_of(maker.directory, 0, ".log.cleaned").rename(swap_name)
    assert remove_cleaned(maker.directory, Disk()) == 0
    assert path_of(maker.directory, 0, ".group.swap").exists()
    swap_name.rename(path_of(maker.directory, 0, ".log.cleaned"))
    assert remove_cleaned(maker.directory, Disk()) == 5
    assert swap.segments


def test_a_swap_of_kafkas_goes_as_far_as_its_last_batch(tmp_path):
    """It has no file for the group."""
    maker, log, _swap = prepared(tmp_path, "a group whose end goes")
    log.abandon()
    path_of(maker.directory, 0, ".group.swap").unlink()
    path_of(maker.directory, 0, ".log.cleaned").rename(path_of(maker.directory, 0, ".log.swap"))
    assert opened(maker).segment_bases == [0, 24, 27, 30]


def test_kafka_interrupted_while_it_renames_its_set_has_it_taken_back(tmp_path):
    maker, log, _swap = prepared(tmp_path)
    log.abandon()
    before = state(maker.directory)
    path_of(maker.directory, 0, ".group.swap").unlink()
    path_of(maker.directory, 0, ".log.cleaned").rename(path_of(maker.directory, 0, ".log.swap"))
    path_of(maker.directory, 0, ".txnindex.swap").rename(path_of(maker.directory, 0, ".txnindex.cleaned"))
    opened(maker)
    assert state(maker.directory) == before
    assert not [path for path in maker.directory.iterdir() if path.suffix in {".swap", ".cleaned"}]


@pytest.mark.parametrize("content", [b"", b"0", b"0\nx\n", b"1\n30\n", b"0\n" + b"9" * 30])
def test_a_group_file_that_is_none_says_nothing(tmp_path, content):
    path = tmp_path / "group"
    path.write_bytes(content)
    assert read_group(path) is None
    path.write_bytes(encode_group(30))
    assert read_group(path) == 30
    assert read_group(tmp_path / "none") is None


@pytest.mark.skipif(not hasattr(PartitionLog, "truncate_to"), reason="no truncation yet")
@pytest.mark.parametrize("target", [5, 12, 15, 29])
def test_a_truncation_ends_the_compactions_under_way(tmp_path, target):
    maker, log, swap = prepared(tmp_path)
    before = {record.offset for _, records in state(maker.directory) for record in records}
    version = log.segments_version
    assert log.truncate_to(target)
    for number in range(log.log_end_offset, 31):  # as many records as before, others
        log.append_as_leader([batch(timestamp_ms=NOW_MS)], 0, NOW_MS)
        if number % 3 == 2:
            log.roll_if_older(2**62)
    assert not log.swap_segments(swap.segments, version)
    assert {record.offset for _, records in state(maker.directory) for record in records} >= before - set(
        range(target, 30)
    )
    run(log, compaction_of(log, CONFIG))
    log.abandon()
    assert opened(maker).log_end_offset == log.log_end_offset
