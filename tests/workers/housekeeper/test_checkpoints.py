"""What the housekeeper writes into the offset checkpoints, write by write: crashes, other topics, replicas not in service."""

from types import SimpleNamespace

import pytest

from headrace.ids import TopicPartition
from headrace.log.disk import Disk
from headrace.log.state.checkpoints import (
    CLEANER_OFFSET_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    read_offset_checkpoint,
    write_offset_checkpoint,
    write_partition_metadata,
)
from headrace.log.state.topic_checkpoints import CHECKPOINT_TOPICS_FILE, TopicCheckpoints, seal, write_checkpoint_topics
from headrace.workers.housekeeper.checkpoints import Checkpoints

NAME, OTHER, THIRD = (TopicPartition(topic, 0) for topic in ("t", "u", "v"))
A, B = "0a" * 16, "0b" * 16
FILES = (RECOVERY_POINT_FILE, LOG_START_OFFSET_FILE, CLEANER_OFFSET_FILE)


class Crash(Exception):
    pass


class CrashingDisk(Disk):
    """Ends the process at the n-th file that it replaces, before or after that."""

    def __init__(self, at, is_before):
        self.at = at
        self.is_before = is_before
        self.count = 0

    def replace_file(self, path, data, *, is_durable=True):
        self.count += 1
        if self.count == self.at and self.is_before:
            raise Crash
        super().replace_file(path, data, is_durable=is_durable)
        if self.count == self.at:
            raise Crash


def place(log_dir, name, topic_id=A):
    directory = log_dir / str(name)
    directory.mkdir(exist_ok=True)
    write_partition_metadata(directory / "partition.metadata", topic_id)


def hosted(log_dir, name, topic_id):
    return SimpleNamespace(log_dir=log_dir, name=name, topic_id=topic_id)


def believed(log_dir, file_name, name, topic_id):
    return TopicCheckpoints.read(log_dir).offset(file_name, name, topic_id)


@pytest.fixture
def log_dir(tmp_path):
    """Three files in which two topics stand with the id A."""
    for file_name in FILES:
        write_offset_checkpoint(tmp_path / file_name, {NAME: 800, OTHER: 5})
    write_checkpoint_topics(tmp_path / CHECKPOINT_TOPICS_FILE, {NAME: A, OTHER: A})
    place(tmp_path, OTHER)
    return tmp_path


def test_what_is_not_in_service_keeps_what_was_known(log_dir):
    checkpoints = Checkpoints()
    checkpoints.write(log_dir, LOG_START_OFFSET_FILE, {THIRD: (B, 7)})
    checkpoints.write(log_dir, LOG_START_OFFSET_FILE, {})
    assert read_offset_checkpoint(log_dir / LOG_START_OFFSET_FILE) == {NAME: 800, OTHER: 5, THIRD: 7}
    assert believed(log_dir, LOG_START_OFFSET_FILE, NAME, A) == 800
    assert believed(log_dir, LOG_START_OFFSET_FILE, THIRD, A) is None


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize("at", range(1, 7))
def test_a_crash_at_any_write_leaves_no_entry_of_another_topic_to_be_believed(log_dir, at, is_before):
    checkpoints = Checkpoints(CrashingDisk(at, is_before))
    try:
        for file_name in FILES:
            checkpoints.write(log_dir, file_name, {NAME: (B, 3)})
    except Crash:
        pass
    place(log_dir, NAME, B)
    seal(log_dir)  # the next start
    for file_name in FILES:
        assert believed(log_dir, file_name, NAME, B) in (None, 3)
        assert believed(log_dir, file_name, OTHER, A) == 5
    again = Checkpoints()
    for file_name in FILES:
        again.write(log_dir, file_name, {NAME: (B, 4)})
        assert believed(log_dir, file_name, NAME, B) == again.offset(file_name, hosted(log_dir, NAME, B)) == 4


def test_a_deleted_partition_goes_from_every_file_and_another_by_its_name_stays(log_dir):
    checkpoints = Checkpoints()
    checkpoints.forget(log_dir, OTHER, B)  # long ago
    checkpoints.forget(log_dir, NAME, A)
    assert checkpoints.offset(LOG_START_OFFSET_FILE, hosted(log_dir, NAME, A)) == -1
    checkpoints.write(log_dir, RECOVERY_POINT_FILE, {})
    assert [read_offset_checkpoint(log_dir / name) for name in FILES] == [{OTHER: 5}] * 3
    assert TopicCheckpoints.read(log_dir).topic_ids == {OTHER: A}


def test_a_topic_from_before_ids_goes_by_its_name(log_dir):
    (log_dir / CHECKPOINT_TOPICS_FILE).unlink()
    checkpoints = Checkpoints()
    assert checkpoints.offset(LOG_START_OFFSET_FILE, hosted(log_dir, NAME, "")) == 800
    checkpoints.forget(log_dir, NAME, "")
    checkpoints.write(log_dir, RECOVERY_POINT_FILE, {NAME: ("", 1)})
    assert [read_offset_checkpoint(log_dir / name) for name in FILES] == [{NAME: 1, OTHER: 5}, {OTHER: 5}, {OTHER: 5}]


def test_a_replica_that_moved_leaves_its_old_directory(log_dir):
    checkpoints = Checkpoints()
    for file_name in FILES:
        checkpoints.forget_moved(log_dir, file_name, [NAME, THIRD])
    assert [read_offset_checkpoint(log_dir / name) for name in FILES] == [{OTHER: 5}] * 3


def test_a_clean_stop_leaves_what_apache_kafka_may_believe(log_dir):
    place(log_dir, THIRD, B)
    checkpoints = Checkpoints()
    checkpoints.write(log_dir, LOG_START_OFFSET_FILE, {THIRD: (A, 7)})  # its directory says otherwise
    checkpoints.hand_over(log_dir)
    assert [read_offset_checkpoint(log_dir / name) for name in FILES] == [{OTHER: 5}] * 3
    assert not (log_dir / CHECKPOINT_TOPICS_FILE).exists()
    seal(log_dir)
    assert believed(log_dir, LOG_START_OFFSET_FILE, OTHER, A) == 5
    assert believed(log_dir, LOG_START_OFFSET_FILE, OTHER, B) is None


def test_whose_entries_they_are_is_kept_at_last_where_the_start_had_no_room_to(log_dir):
    (log_dir / CHECKPOINT_TOPICS_FILE).unlink()
    Checkpoints().write(log_dir, LOG_START_OFFSET_FILE, {})
    assert TopicCheckpoints.read(log_dir).topic_ids == {OTHER: A}
