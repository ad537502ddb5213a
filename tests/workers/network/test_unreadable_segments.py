"""A sector that the disk can't read: the log directory fails in all processes, so that another node leads; an index
costs nothing but time.
"""

import errno
import os
import shutil

import pytest

from headrace.errors import ErrorCode
from headrace.log.names import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, path_of
from headrace.log.reading import index_reader, segment_file
from headrace.log.reading.reader import LogReader
from headrace.log.reading.segment_facts import segment_facts
from headrace.workers.network.connections import outbox
from headrace.workers.network.fetch import down_conversion, look_ups
from headrace.workers.network.handlers import a01_fetch
from tests.support.altered import altered
from tests.support.fake_clock import NOW_MS
from tests.support.fake_seat import view_of
from tests.support.log_fixtures import LogMaker, batch
from tests.workers.network.network_rig import Rig, lead
from tests.workers.network.test_leader_reads import EPOCH, fetch, list_offset, put


def refuse(path, monkeypatch, *modules):
    """Whatever is read of a file, by these modules."""
    inode = path.stat().st_ino

    def check(fd):
        if os.fstat(fd).st_ino == inode:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def pread(fd, size, position):
        check(fd)
        return os.pread(fd, size, position)

    def sendfile(target, fd, position, size):
        check(fd)
        return os.sendfile(target, fd, position, size)

    for module in modules:
        monkeypatch.setattr(module, "os", altered(os, pread=pread, sendfile=sendfile))


@pytest.fixture
def rig(tmp_path):
    rig = Rig(tmp_path)
    rig.seat.view.view = view_of(("t", 2, {}, EPOCH))._replace(version=2)
    rig.replica = lead(rig).by_slot[0]
    put(rig, batch())
    yield rig
    rig.close()


def log_file(rig):
    return path_of(rig.replica.log.directory, 0, LOG_SUFFIX)


def is_said_once(rig, caplog):
    lines = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    return rig.seat.mask == 1 and len(lines) == 1 and str(rig.replica.log.directory.parent) in lines[0]


@pytest.mark.parametrize(
    ("how", "modules"),
    [
        (fetch, (segment_file,)),
        (fetch, (a01_fetch,)),
        (lambda rig: fetch(rig, version=1), (down_conversion,)),
        (lambda rig: list_offset(rig, NOW_MS - 1), (segment_file,)),
    ],
    ids=["look-up", "records", "old reader", "time"],
)
def test_the_directory_of_a_segment_that_can_not_be_read_fails_and_that_is_said_once(
    rig, monkeypatch, caplog, how, modules
):
    refuse(log_file(rig), monkeypatch, *modules)
    for _ in range(3):
        assert how(rig).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert is_said_once(rig, caplog)


def test_so_does_one_whose_range_can_not_be_sent(rig, monkeypatch, caplog):
    put(rig, batch(count=200, size=1_000))
    refuse(log_file(rig), monkeypatch, outbox)
    with pytest.raises((AssertionError, ConnectionError)):
        fetch(rig, offset=1)
    assert is_said_once(rig, caplog)


def test_what_is_wrong_with_the_bytes_costs_no_directory(rig):
    data = bytearray(log_file(rig).read_bytes())
    data[16] = 9  # no magic
    log_file(rig).write_bytes(data)
    assert fetch(rig).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert not rig.seat.mask


@pytest.mark.parametrize("suffix", [INDEX_SUFFIX, TIME_INDEX_SUFFIX])
def test_an_index_that_can_not_be_read_is_done_without(tmp_path, monkeypatch, caplog, suffix):
    maker = LogMaker(tmp_path)
    log = maker.open()
    for number in range(500):
        log.append_as_leader([batch(timestamp_ms=NOW_MS + number)], 0, NOW_MS)
    log.roll_if_older(NOW_MS + 10_000)
    log.append_as_leader([batch(timestamp_ms=NOW_MS + 500)], 0, NOW_MS)
    refuse(path_of(log.directory, 0, suffix), monkeypatch, index_reader)
    reader = LogReader(log.directory)
    reader.refresh(log.segments_version)
    place = (log.end_segment, log.end_position)
    found = reader.locate(400, 1, *place, at_least_one=True)
    assert int.from_bytes(os.pread(found.fd, 8, found.position), "big") == 400
    assert reader.first_offset_at(NOW_MS + 300, 0, *place).offset == 300
    assert reader.max_timestamp(*place).offset == 500
    assert [one.base_offset for one in segment_facts(log.directory, 501)] == [0, 500], (
        "retention goes by the file's time then"
    )
    assert "index can't be read" in caplog.text
    reader.close()
    log.close()


def unindexed_log(rig, monkeypatch, suffix, count=400):
    """A segment of small batches whose index can't be read, and how often the disk was asked for it."""
    for number in range(count):
        put(rig, batch(timestamp_ms=NOW_MS + number))
    path = path_of(rig.replica.log.directory, 0, suffix)
    refuse(path, monkeypatch, index_reader)
    inode, asked, module = path.stat().st_ino, [], index_reader.os

    def pread(fd, size, position):
        if os.fstat(fd).st_ino == inode:
            asked.append(position)
        return module.pread(fd, size, position)

    monkeypatch.setattr(index_reader, "os", altered(os, pread=pread))
    return asked


def warnings(caplog):
    return [one for one in caplog.records if "index can't be read" in one.getMessage()]


def test_a_walk_without_an_index_has_a_share_of_a_cycle_and_goes_on_in_the_next_request(rig, monkeypatch, caplog):
    """Each look-up walked from byte 0 of up to a GiB, without a beat. Until one is there clients get an error that they retry."""
    asked = unindexed_log(rig, monkeypatch, INDEX_SUFFIX)
    monkeypatch.setattr(look_ups, "LOOK_UP_SHARE_COST", 20_000)
    monkeypatch.setattr(segment_file, "PLACE_COST", 10_000)
    errors = []
    for _ in range(50):
        errors.append(ErrorCode(fetch(rig, offset=300).error_code))
        if not errors[-1]:
            break
    assert errors[-1] == ErrorCode.NONE
    assert len(errors) > 3
    assert set(errors[:-1]) == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert errors[0].retriable
    assert fetch(rig, offset=299).error_code == 0, "from a place that is known by now"
    assert list_offset(rig, NOW_MS + 350).offset == 351
    assert len(asked) == len(warnings(caplog)) == 1
    assert not rig.seat.mask


def test_a_time_index_that_can_not_be_read_is_tried_once(rig, monkeypatch, caplog):
    """Each look-up read the bad sector again, which takes a disk seconds, and said so again."""
    asked = unindexed_log(rig, monkeypatch, TIME_INDEX_SUFFIX)
    for number in range(5):
        assert list_offset(rig, NOW_MS + 300 + number).offset == 301 + number
        assert list_offset(rig, -3, version=7).offset == 400
    assert len(asked) == len(warnings(caplog)) == 1


@pytest.mark.parametrize("how", [fetch, lambda rig: list_offset(rig, NOW_MS - 1)], ids=["fetch", "time"])
def test_a_disk_that_has_a_copy_is_not_taken_for_the_one_that_fails(tmp_path, monkeypatch, how):
    """A replica is moved off a dying disk. Between the copy's rename and the row both places have its name."""
    new, old = tmp_path / "new", tmp_path / "old"
    (old / "t-0").mkdir(parents=True)
    new.mkdir()
    rig = Rig(new, log_dirs=[new, old])
    rig.seat.view.view = view_of(("t", 2, {}, EPOCH))._replace(version=2)
    rig.replica = lead(rig).by_slot[0]
    put(rig, batch())
    assert rig.replica.log.directory == old / "t-0"
    assert how(rig).error_code == 0
    shutil.copytree(old / "t-0", new / "t-0")
    refuse(log_file(rig), monkeypatch, segment_file, a01_fetch)
    assert how(rig).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert rig.seat.mask == rig.seat.wiring.log_dir_bit(str(old))
    rig.close()
