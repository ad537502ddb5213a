"""A log that was synced before each answer: what damage is, and what a torn end."""

import random

import pytest

from headrace.log.config import LogConfig
from headrace.log.names import LOG_SUFFIX, path_of
from headrace.log.recovery import damaged_rest
from headrace.log.recovery.damaged_rest import has_whole_batch
from headrace.log.segments.segment import Segment
from headrace.log.state.loss_mark import LOSS_FILE
from headrace.protocol.record_batch import build_batch
from tests.log.recovery.test_damaged_rest import SIZE, read, strays
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import LogMaker, batch

SYNCED = LogConfig(flush_before_ack=True)
BATCHES = 40
SECTOR = 512


def written(maker):
    """One append after the other, each synced and answered. Nothing was written down of it: the checkpoint lags."""
    log = maker.open(SYNCED)
    for number in range(BATCHES):
        assert log.append_as_leader([batch()], 0, NOW_MS) == [(0, number, -1)]
    log.abandon()
    return path_of(maker.directory, 0, LOG_SUFFIX)


def change(path, position, data):
    found = bytearray(path.read_bytes())
    found[position : position + len(data)] = data
    path.write_bytes(found)


def bit(path, position):
    change(path, position, bytes([path.read_bytes()[position] ^ 1]))


DAMAGE = {
    "a bit of a record": lambda path: bit(path, 3 * SIZE + 70),
    "a bit of a length": lambda path: bit(path, 3 * SIZE + 9),
    "a bit of an offset": lambda path: bit(path, 3 * SIZE + 5),
    "a lost sector": lambda path: change(path, 3 * SIZE, bytes(SECTOR)),
    "another file's sector": lambda path: change(path, 3 * SIZE, random.Random(3).randbytes(SECTOR)),
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("is_sole", [True, False], ids=["sole", "not sole"])
def test_damage_before_a_whole_batch_is_reported_and_what_follows_is_kept(maker, is_sole, name):
    path = written(maker)
    DAMAGE[name](path)
    damaged = path.read_bytes()
    log = maker.open(SYNCED, is_sole=is_sole)
    assert log.was_synced
    assert log.was_cut
    assert (maker.directory / LOSS_FILE).exists()
    (stray,) = strays(maker)
    (kept,) = stray.glob("*.log")
    at = 4 if name == "a bit of an offset" else 3  # no checksum is of it: the next batch is the one that does not fit
    assert kept.read_bytes() == damaged[at * SIZE :]
    if is_sole and name == "a bit of a record":
        assert read(log) == [one for one in range(BATCHES) if one != 3], "no other replica has them: they stay"
    else:
        assert path.read_bytes() == damaged[: at * SIZE]
    log.abandon()


@pytest.mark.parametrize("is_torn", [False, True], ids=["whole batches follow", "nothing whole follows in its segment"])
@pytest.mark.parametrize("is_sole", [True, False], ids=["sole", "not sole"])
def test_so_it_is_in_a_segment_before_the_last_one(maker, is_sole, is_torn):
    """All of it was answered, since a later segment has a batch. Other replicas may lack it too."""
    log = maker.open(SYNCED)
    for number in range(BATCHES):
        if number == 30:
            log.roll_if_older(2**62)
        log.append_as_leader([batch()], 0, NOW_MS)
    log.abandon()
    path = path_of(maker.directory, 0, LOG_SUFFIX)
    at = 29 if is_torn else 3
    bit(path, at * SIZE + 70)
    damaged = path.read_bytes()
    log = maker.open(SYNCED, is_sole=is_sole)
    assert log.was_cut
    assert (maker.directory / LOSS_FILE).exists()
    kept = [one.read_bytes() for stray in strays(maker) for one in stray.glob("*.log")]
    assert damaged[at * SIZE :] in kept
    if is_sole:
        assert read(log) == [one for one in range(BATCHES) if one != at]
    else:
        assert log.log_end_offset == at
        assert len(kept) == 2, "the later segment as well"
    log.abandon()


TORN = {
    "half a batch": lambda path: path.write_bytes(path.read_bytes()[: -SIZE // 2]),
    "zeros": lambda path: change(path, (BATCHES - 1) * SIZE, bytes(1 << 20)),
    "noise": lambda path: change(path, (BATCHES - 1) * SIZE, random.Random(5).randbytes(1 << 20)),
    "its first sector alone": lambda path: change(path, (BATCHES - 1) * SIZE + 64, bytes(4 << 20)),
}


@pytest.mark.parametrize("name", TORN)
def test_a_torn_end_is_no_loss(maker, name):
    path = written(maker)
    TORN[name](path)
    log = maker.open(SYNCED, is_sole=True)
    assert log.log_end_offset == BATCHES - 1
    assert not log.was_cut
    assert not (maker.directory / LOSS_FILE).exists()
    assert not strays(maker)
    log.abandon()


def test_batches_of_one_write_that_came_to_the_disk_in_another_order_count_as_damage(maker):
    """Nothing tells them from that. They were not answered: it costs a comparison."""
    path = written(maker)
    log = maker.open(SYNCED)
    log.append_as_leader([batch(), batch(), batch()], 0, NOW_MS)
    log.abandon()
    change(path, BATCHES * SIZE, bytes(SIZE))
    log = maker.open(SYNCED)
    assert log.log_end_offset == BATCHES
    assert log.was_cut
    log.abandon()


def test_a_batch_within_a_clients_record_never_becomes_a_part_of_the_log(maker):
    path = written(maker)
    hidden = bytearray(build_batch([(b"k", b"not yours")], timestamp_ms=NOW_MS))
    hidden[:8] = (BATCHES + 2).to_bytes(8, "big")  # no part of what the checksum is of
    log = maker.open(SYNCED)
    log.append_as_leader([memoryview(bytearray(build_batch([(b"k", bytes(hidden))], timestamp_ms=NOW_MS)))], 0, NOW_MS)
    log.abandon()
    bit(path, BATCHES * SIZE + 9)
    log = maker.open(SYNCED, is_sole=True)
    assert log.log_end_offset == BATCHES
    assert read(log) == list(range(BATCHES))
    log.abandon()


@pytest.mark.parametrize("offset", [0, 2**32 - 2, 2**40 + 7])
def test_a_whole_batch_is_found_wherever_it_begins(maker, offset, monkeypatch):
    """Across the windows of the search as well, and where the high half of the offset changes."""
    monkeypatch.setattr(damaged_rest, "_WINDOW_BYTES", 300)
    maker.directory.mkdir(parents=True)
    found = bytearray(batch())
    found[:8] = (offset + 5).to_bytes(8, "big")
    path = path_of(maker.directory, offset, LOG_SUFFIX)
    for position in range(1, 700, 7):
        path.write_bytes(bytes(position) + found + bytes(50))
        segment = Segment(maker.directory, offset, maker.disk, maker.clock)
        assert has_whole_batch(segment, 0, offset, maker.disk), position
        segment.close()
        path.write_bytes(bytes(position) + found[:-1])
        segment = Segment(maker.directory, offset, maker.disk, maker.clock)
        assert not has_whole_batch(segment, 0, offset, maker.disk), position
        segment.close()


def test_bytes_that_look_like_headers_without_end_are_not_compared_without_end(maker, monkeypatch):
    """Each of them claims all that follows."""
    monkeypatch.setattr(damaged_rest, "REST_SEARCH_BYTES_MAX", 1 << 20)
    maker.directory.mkdir(parents=True)
    count = 10_000
    head = bytearray(batch()[:61])
    head[:8] = (7).to_bytes(8, "big")
    heads = []
    for number in range(count):
        head[8:12] = ((count - number) * len(head) - 12).to_bytes(4, "big")
        heads.append(bytes(head))
    path_of(maker.directory, 0, LOG_SUFFIX).write_bytes(b"\0" + b"".join(heads))
    segment = Segment(maker.directory, 0, maker.disk, maker.clock)
    read_bytes = 0
    read_some = maker.disk.preadv

    def counted(fd, buffers, position):
        nonlocal read_bytes
        done = read_some(fd, buffers, position)
        read_bytes += done
        return done

    monkeypatch.setattr(maker.disk, "preadv", counted)
    assert has_whole_batch(segment, 0, 0, maker.disk), "not known: it counts as damage"
    assert read_bytes < 4 << 20
    segment.close()


@pytest.mark.parametrize("killed_in", ["truncate", "pwritev"])
def test_an_opening_that_is_killed_again_and_again_leaves_one_copy(tmp_path, killed_in, monkeypatch):
    """Of a disk that is short of room already."""
    maker = LogMaker(tmp_path)
    path = written(maker)
    bit(path, 3 * SIZE + 70)
    rest = path.read_bytes()[3 * SIZE :]

    class Killed(BaseException):
        pass

    def kill(*_args):
        raise Killed

    def kill_half_way(fd, buffers, position):
        if position == 0 and len(buffers[0]) == len(rest):
            write(fd, [buffers[0][: len(rest) // 2]], position)
        raise Killed

    write = maker.disk.pwritev
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(maker.disk, killed_in, kill if killed_in == "truncate" else kill_half_way)
            with pytest.raises(Killed):
                maker.open(SYNCED)
    log = maker.open(SYNCED)
    assert log.log_end_offset == 3
    (stray,) = strays(maker)
    assert (stray / f"{3:020d}.log").read_bytes() == rest
    log.abandon()


def test_a_copy_of_other_bytes_stays_beside_the_new_one(maker):
    path = written(maker)
    whole = path.read_bytes()
    for position in (3 * SIZE + 70, 3 * SIZE + 80):
        path.write_bytes(whole)
        bit(path, position)
        maker.open(SYNCED).abandon()
    assert len(strays(maker)) == 2


# Below the log's start


def torn_in_the_middle(maker, count, start):
    """Records were deleted up to an offset, and the recovery point is there; nothing was synced. A page is zeros after a power loss."""
    log = maker.open()
    for _ in range(count):
        log.append_as_leader([batch()], 0, NOW_MS)
    log.advance_log_start(start)
    size = log.end_position
    log.abandon()
    with open(log.directory / f"{0:020d}.log", "r+b") as torn:
        torn.seek(5 * size // count)
        torn.write(bytes(100))


def put_aside(maker):
    return [path for path in maker.directory.parent.iterdir() if path.name.endswith("-stray")]


@pytest.mark.parametrize("is_sole", [False, True])
@pytest.mark.parametrize("recovery_point", [0, 10])
def test_damage_that_nothing_of_the_log_follows_is_no_loss(maker, recovery_point, is_sole, caplog):
    torn_in_the_middle(maker, 10, 10)
    log = maker.open(recovery_point=recovery_point, log_start_offset=10, is_sole=is_sole)
    assert (log.log_start_offset, log.log_end_offset) == (10, 10)
    assert (log.was_cut, log.has_lost_end, log._loss.is_set) == (False, False, False)
    assert len(put_aside(maker)) == 1, "the segments, and no copy of the damage"
    assert "is damaged" not in caplog.text


@pytest.mark.parametrize("how", [{"recovery_point": 10}, {"recovery_point": 11}, {"recovery_point": 0}])
def test_what_follows_it_from_the_start_on_is_one(maker, how):
    torn_in_the_middle(maker, 11, 10)
    log = maker.open(log_start_offset=10, **how)
    assert (log.was_cut, log.has_lost_end, log._loss.is_set) == (True, True, True)


def test_so_is_a_damaged_batch_that_reaches_the_start(maker):
    log = maker.open()
    log.append_as_leader([batch()], 0, NOW_MS)
    size = log.end_position
    log.append_as_leader([batch(10)], 0, NOW_MS)
    log.advance_log_start(5)
    log.abandon()
    with open(log.directory / f"{0:020d}.log", "r+b") as torn:
        torn.seek(size + 100)
        torn.write(b"flip")
    log = maker.open(log_start_offset=5)
    assert (log.was_cut, log.has_lost_end) == (True, True)
