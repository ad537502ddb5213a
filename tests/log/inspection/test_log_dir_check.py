"""A whole log directory judged: sound ones, damaged ones, one whose node runs, one that crashed; and nothing is written."""

import fcntl
import os
import shutil
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.ids import TopicPartition
from headrace.log.inspection import log_dir_check
from headrace.log.inspection.log_dir_check import LogDirCheck, NoLogDirectory, is_locked
from headrace.log.names import SUFFIXES
from headrace.log.state.checkpoints import (
    CLEAN_SHUTDOWN_FILE,
    RECOVERY_POINT_FILE,
    write_clean_shutdown,
    write_leader_epochs,
    write_offset_checkpoint,
    write_partition_metadata,
)
from headrace.log.state.synced_mark import SYNCED_FILE
from headrace.log.state.truncation_mark import TRUNCATION_FILE
from headrace.protocol.message_set import build_message_set
from headrace.protocol.record_batch import Record, build_batch
from tests.support.log_damage import BATCHES, RECORDS_PER_BATCH, flip, tree, write_log

pytestmark = pytest.mark.process

FIRST = "00000000000000000000"
LOCK = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.lockf(file, fcntl.LOCK_EX); print('locked', flush=True); sys.stdin.read()"


def check(directory, **how):
    return LogDirCheck(directory, processes=2, **how).run(lambda totals: None)


def faults(totals):
    return [fault for fault in totals.faults if not fault.is_note]


def notes(totals):
    return [fault for fault in totals.faults if fault.is_note]


def active(directory):
    return max(directory.glob("*.log"))


@pytest.fixture
def log_dir(tmp_path):
    """A log directory that was left clean."""
    write_log(tmp_path)
    write_offset_checkpoint(tmp_path / RECOVERY_POINT_FILE, {TopicPartition("topic", 0): BATCHES * RECORDS_PER_BATCH})
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=0\ncluster.id=abc\n")
    write_clean_shutdown(tmp_path)
    return tmp_path


@pytest.fixture
def locked(log_dir):
    """Another process holds the lock, as a node does."""
    holder = subprocess.Popen(
        [sys.executable, "-c", LOCK, str(log_dir / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "locked\n"
    yield log_dir
    holder.communicate("")


def test_a_sound_directory_has_no_fault_and_is_not_changed(log_dir):
    before = tree(log_dir)
    totals = check(log_dir, is_deep=True)
    assert totals.faults == []
    assert (totals.partitions, totals.batches, totals.records) == (1, BATCHES, BATCHES * RECORDS_PER_BATCH)
    assert totals.bytes_done == totals.bytes_all == sum(path.stat().st_size for path in log_dir.rglob("*.log"))
    assert totals.segments == totals.segments_done == len(list(log_dir.rglob("*.log"))) > 2
    assert tree(log_dir) == before


def test_the_directory_of_one_partition_will_do(log_dir):
    totals = check(log_dir / "topic-0")
    assert totals.faults == []
    assert totals.partitions == 1


def test_a_flipped_bit_at_every_byte_of_a_segment_is_found(log_dir):
    """Checksums cover all but base offset, length, epoch, magic and checksum: these are compared with what is around them."""
    path = log_dir / "topic-0" / f"{FIRST}.log"
    whole = path.read_bytes()
    unseen = []
    for position in range(800):
        flip(path, position)
        report = log_dir_check.check_segment(log_dir_check.SegmentCheck(path.parent, 0))
        epochs = {epoch for epoch, _offset in report.epochs}
        if not any(not fault.is_note for fault in report.faults) and epochs == {2}:
            unseen.append(position)
        path.write_bytes(whole)
    assert unseen == []


def test_every_kind_of_damage_is_named_with_file_and_advice(log_dir):
    folder = log_dir / "topic-0"
    second = sorted(folder.glob("*.log"))[1]
    flip(folder / f"{FIRST}.log", 450)
    flip(second.with_suffix(".index"), 8)
    flip(second.with_suffix(".timeindex"), 5)
    flip(max(folder.glob("*.snapshot")), 12)
    (folder / "leader-epoch-checkpoint").write_text("0\n7\n2 0\n")
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: short\n")
    (log_dir / RECOVERY_POINT_FILE).write_text("0\n1\nno number here\n")
    (log_dir / "meta.properties").write_text("nonsense\n")
    found = faults(check(log_dir))
    assert {os.path.basename(fault.path) for fault in found} == {
        f"{FIRST}.log", second.with_suffix(".index").name, second.with_suffix(".timeindex").name,
        max(folder.glob("*.snapshot")).name, "leader-epoch-checkpoint", "partition.metadata", RECOVERY_POINT_FILE,
        "meta.properties",
    }  # fmt: skip
    assert all(fault.advice for fault in found)
    assert all(fault.what for fault in found)


def test_what_lies_behind_a_bad_place_is_still_checked(log_dir):
    path = log_dir / "topic-0" / f"{FIRST}.log"
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.seek(450)
        file.write(b"\xee" * 60)  # a header is gone: nothing tells where the next batch begins
    flip(path, size - 1)
    found = [fault for fault in faults(check(log_dir)) if fault.path == str(path)]
    assert len(found) >= 2
    assert "are lost" in found[0].what or "are lost" in found[1].what


def test_a_torn_tail_is_a_note_after_a_crash_and_a_fault_after_a_clean_stop(log_dir):
    with open(active(log_dir / "topic-0"), "ab") as file:
        file.write((10**6).to_bytes(8, "big") + (100).to_bytes(4, "big") + bytes(4) + b"\x02" + bytes(20))
    assert faults(check(log_dir))
    (log_dir / CLEAN_SHUTDOWN_FILE).unlink()
    totals = check(log_dir)
    assert not faults(totals)
    assert [note for note in notes(totals) if "no batch after this byte" in note.what]


def test_a_tail_that_is_being_written_is_nothing_beside_a_node(locked):
    with open(active(locked / "topic-0"), "ab") as file:
        file.write((10**6).to_bytes(8, "big") + (100).to_bytes(4, "big") + bytes(4) + b"\x02" + bytes(20))
    totals = check(locked)
    assert totals.is_running
    assert totals.faults == []


def test_a_wrong_checksum_at_the_end_of_a_crashed_log_is_a_note_and_one_in_the_middle_a_fault(log_dir):
    (log_dir / CLEAN_SHUTDOWN_FILE).unlink()
    (log_dir / RECOVERY_POINT_FILE).unlink()  # else the batch was synced, and its loss is a fault
    path = active(log_dir / "topic-0")
    flip(path, path.stat().st_size - 1)
    totals = check(log_dir)
    assert not faults(totals)
    assert any("wrong checksum" in note.what for note in notes(totals))
    flip(path, 200)
    assert any(fault.path == str(path) and "checksum" in fault.what for fault in faults(check(log_dir)))


def test_a_lost_segment_and_an_overlap_are_named(log_dir):
    folder = log_dir / "topic-0"
    second, third = sorted(folder.glob("*.log"))[1:3]
    for path in folder.glob(f"{second.stem}.*"):
        path.unlink()
    assert any("are in no segment" in note.what for note in notes(check(log_dir)))
    shutil.copy(third, folder / f"{int(second.stem) + 1:020d}.log")
    assert faults(check(log_dir))


def test_missing_indexes_are_notes(log_dir):
    for path in (log_dir / "topic-0").glob("*index"):
        path.unlink()
    totals = check(log_dir)
    assert not faults(totals)
    assert {os.path.splitext(note.path)[1] for note in notes(totals)} == {".index", ".timeindex"}


def test_records_behind_the_log_of_a_checkpoint_are_missed(log_dir):
    write_offset_checkpoint(log_dir / RECOVERY_POINT_FILE, {TopicPartition("topic", 0): 10**6})
    (fault,) = faults(check(log_dir))
    assert "was synced up to offset 1000000" in fault.what


def test_leader_epochs_that_disagree_with_the_batches_are_named(log_dir):
    write_leader_epochs(log_dir / "topic-0" / "leader-epoch-checkpoint", [(1, 0)])
    (fault,) = faults(check(log_dir))
    assert "is of epoch 2, the file says epoch 1" in fault.what


def test_two_ids_of_one_topic_are_named(log_dir):
    shutil.copytree(log_dir / "topic-0", log_dir / "topic-1")
    write_partition_metadata(log_dir / "topic-0" / "partition.metadata", "01" * 16)
    write_partition_metadata(log_dir / "topic-1" / "partition.metadata", "02" * 16)
    (fault,) = faults(check(log_dir))
    assert "topic id" in fault.what


def test_an_aborted_transaction_needs_its_marker(log_dir):
    path = log_dir / "topic-0" / f"{FIRST}.txnindex"
    path.write_bytes(struct.pack(">hqqqq", 0, 5, 0, 2, 3))
    (fault,) = faults(check(log_dir))
    assert "no abort marker of producer 5 at offset 2" in fault.what


def test_what_deep_finds_checksums_do_not(log_dir):
    path = log_dir / "topic-0" / f"{FIRST}.log"
    whole = bytearray(path.read_bytes())
    whole[57:61] = (4).to_bytes(4, "big")  # a record more than there are, and a checksum that agrees
    size = int.from_bytes(whole[8:12], "big") + 12
    whole[17:21] = checksum(whole[21:size]).to_bytes(4, "big")
    path.write_bytes(whole)
    assert not faults(check(log_dir))
    assert "can't be read" in faults(check(log_dir, is_deep=True))[0].what


def checksum(data):
    from crc32c import crc32c

    return crc32c(bytes(data))


def test_leftovers_and_strangers_are_notes_and_topics_on_their_way_out_are_passed_over(log_dir):
    (log_dir / "notes.txt").write_text("x")
    (log_dir / "folder").mkdir()
    (log_dir / f"gone-0.{'0' * 32}-delete").mkdir()
    (log_dir / "topic-0" / f"{FIRST}.log.cleaned").write_text("x")
    (log_dir / "topic-0" / f"{FIRST}.log.deleted").write_text("x")
    (log_dir / "topic-0" / "stranger").write_text("x")
    totals = check(log_dir)
    assert not faults(totals)
    assert len(notes(totals)) == 4


def test_a_segment_that_vanishes_meanwhile_is_left_out(log_dir, monkeypatch):
    listed = log_dir_check.list_partition

    def list_then_lose(path, name):
        folder = listed(path, name)
        for file in path.glob(f"{FIRST}.*"):
            file.unlink()
        return folder

    monkeypatch.setattr(log_dir_check, "list_partition", list_then_lose)
    assert not faults(check(log_dir))


def test_an_empty_directory_is_no_log_directory_perhaps_its_disk_is_not_mounted(tmp_path):
    with pytest.raises(NoLogDirectory):
        check(tmp_path)
    with pytest.raises(FileNotFoundError):
        check(tmp_path / "nowhere")


def test_the_lock_is_asked_for_and_not_taken(tmp_path, locked):
    assert is_locked(locked / ".lock")
    assert not is_locked(tmp_path / "none")
    with open(tmp_path / "free", "w") as file:
        assert not is_locked(tmp_path / "free")
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_checking_process_that_is_killed_is_an_error_with_advice(log_dir, monkeypatch):
    from headrace.errors import HeadraceError

    monkeypatch.setattr(log_dir_check, "check_segment", lambda *_: os.kill(os.getpid(), 9))
    with pytest.raises(HeadraceError, match="--processes"):
        check(log_dir)


def test_the_advice_for_leader_epochs_helps(log_dir):
    from tests.support.log_fixtures import LogMaker

    folder = log_dir / "topic-0"
    (folder / "leader-epoch-checkpoint").unlink()
    assert not faults(check(log_dir))
    assert any("names no epoch" in note.what for note in notes(check(log_dir)))
    write_leader_epochs(folder / "leader-epoch-checkpoint", [(7, 0)])
    assert faults(check(log_dir))
    for path in (folder / "leader-epoch-checkpoint", log_dir / CLEAN_SHUTDOWN_FILE, log_dir / RECOVERY_POINT_FILE):
        path.unlink()
    LogMaker(log_dir).open().close()
    assert check(log_dir).faults == []


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".snapshot"])
def test_a_flipped_bit_at_every_byte_of_the_small_files_is_found(log_dir, suffix):
    path = (
        max((log_dir / "topic-0").glob("*.snapshot"))
        if suffix == ".snapshot"
        else log_dir / "topic-0" / f"{FIRST}{suffix}"
    )
    whole = path.read_bytes()
    unseen = []
    for position in range(len(whole)):
        flip(path, position)
        report = log_dir_check.check_segment(log_dir_check.SegmentCheck(path.parent, 0))
        folder = log_dir_check.list_partition(path.parent, TopicPartition("topic", 0))
        if not [fault for fault in report.faults + folder.faults if fault.path == str(path)]:
            unseen.append(position)
        path.write_bytes(whole)
    assert unseen == []


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_noise_in_every_file_is_judged_and_never_a_traceback(tmp_path_factory, data):
    directory = tmp_path_factory.mktemp("noise") / "topic-0"
    directory.mkdir()
    whole = build_batch([(b"k", b"v")] * 3, timestamp_ms=5)
    for name in (
        *(f"{base:020d}{suffix}" for base in (0, 3, 10**20 - 1) for suffix in SUFFIXES),
        "leader-epoch-checkpoint",
    ):
        if data.draw(st.booleans()):
            noise = data.draw(st.binary(max_size=150))
            (directory / name).write_bytes(whole + noise if data.draw(st.booleans()) else noise)
    folder = log_dir_check.list_partition(directory, TopicPartition("topic", 0))
    reports = [
        log_dir_check.check_segment(log_dir_check.SegmentCheck(directory, base, base == folder.bases[-1], is_deep=True))
        for base in folder.bases
    ]
    log_dir_check.join_segments(folder, reports, log_dir_check.Checkpoints({}), directory.parent, False)


def test_marks_of_ours_are_files_of_a_log(log_dir):
    (log_dir / "topic-0" / SYNCED_FILE).touch()
    (log_dir / "topic-0" / TRUNCATION_FILE).touch()
    (log_dir / "topic-0" / "strange").touch()
    assert [note.what for note in notes(check(log_dir)) if "does not belong to a log" in note.what] == [
        "strange does not belong to a log"
    ]


def test_what_is_no_file_does_not_stop_the_check(log_dir):
    os.mkfifo(log_dir / "topic-0" / "00000000000000000500.log")
    (log_dir / "topic-0" / "00000000000000000600.log").mkdir()
    totals = check(log_dir)
    assert not faults(totals)
    assert sum("is not a regular file" in note.what for note in notes(totals)) == 2


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_checked_like_new_ones(tmp_path, magic):
    folder = tmp_path / "old-0"
    folder.mkdir()
    records = [Record(offset, 1_000 if magic else -1, b"k", b"v") for offset in range(6)]
    path = folder / f"{FIRST}.log"
    path.write_bytes(build_message_set(records[:3], magic) + build_message_set(records[3:], magic, 1))
    totals = check(tmp_path, is_deep=True)
    assert not faults(totals)
    assert (totals.batches, totals.records) == (4, 6)
    unseen = []
    for position in range(path.stat().st_size):
        whole = path.read_bytes()
        flip(path, position)
        report = log_dir_check.check_segment(log_dir_check.SegmentCheck(folder, 0))
        if not [fault for fault in report.faults if not fault.is_note]:
            unseen.append(position % (36 if magic else 28))
        path.write_bytes(whole)
    assert set(unseen) <= set(range(8)), "only offsets are not covered by checksums"
