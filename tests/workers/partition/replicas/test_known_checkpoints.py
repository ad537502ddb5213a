"""What the checkpoints of several log directories say of one replica."""

from headrace.ids import TopicPartition, partition_key
from headrace.log.state.checkpoints import (
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    write_offset_checkpoint,
)
from headrace.workers.partition.replicas import known_checkpoints
from headrace.workers.partition.replicas.known_checkpoints import KnownCheckpoints

NAME = TopicPartition("t", 0)


def known(tmp_path, **offsets):
    """offsets   by directory: (recovery point, high watermark, log start)"""
    dirs = []
    for name, row in offsets.items():
        log_dir = tmp_path / name
        log_dir.mkdir()
        for file_name, offset in zip(
            (RECOVERY_POINT_FILE, REPLICATION_OFFSET_FILE, LOG_START_OFFSET_FILE), row, strict=True
        ):
            if offset is not None:
                write_offset_checkpoint(log_dir / file_name, {NAME: offset})
        dirs.append(log_dir)
    return KnownCheckpoints(dirs), *dirs


def test_a_recovery_point_is_believed_of_the_log_beside_it_alone(tmp_path):
    checkpoints, one, two = known(tmp_path, one=(None, 40, 5), two=(90, 95, 7))
    assert checkpoints.offset(RECOVERY_POINT_FILE, NAME, "", one) == 0
    assert checkpoints.offset(RECOVERY_POINT_FILE, NAME, "", two) == 90


def test_the_mark_is_that_of_the_own_directory_and_of_another_where_there_is_none(tmp_path):
    checkpoints, one, two = known(tmp_path, one=(1, 40, 5), two=(90, 95, 7))
    assert checkpoints.offset(REPLICATION_OFFSET_FILE, NAME, "", one) == 40
    assert checkpoints.offset(REPLICATION_OFFSET_FILE, NAME, "", tmp_path / "three") == 95
    assert checkpoints.offset(REPLICATION_OFFSET_FILE, NAME, "", two) == 95


def test_what_was_deleted_stays_deleted_wherever_that_was_written(tmp_path):
    checkpoints, one, two = known(tmp_path, one=(1, 40, 5), two=(90, 95, 7))
    assert checkpoints.offset(LOG_START_OFFSET_FILE, NAME, "", one) == 7
    assert checkpoints.offset(LOG_START_OFFSET_FILE, NAME, "", two) == 7


def test_a_log_that_was_closed_is_remembered_in_its_directory(tmp_path):
    checkpoints, one, two = known(tmp_path, one=(1, 40, 5), two=(90, 95, 7))
    checkpoints.remember(NAME, one / str(NAME), {RECOVERY_POINT_FILE: 50})
    assert checkpoints.offset(RECOVERY_POINT_FILE, NAME, "", one) == 50
    assert checkpoints.offset(RECOVERY_POINT_FILE, NAME, "", two) == 0
    checkpoints.forget(NAME, partition_key(*NAME), 70)
    assert checkpoints.offset(RECOVERY_POINT_FILE, NAME, "", one) == 0


def test_what_a_file_may_still_say_of_a_replica_that_was_deleted_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(known_checkpoints, "DELETED_LOGS_KNOWN_MAX", 2)
    checkpoints, _one, _two = known(tmp_path, one=(1, 40, 5), two=(90, 95, 7))
    assert checkpoints.doubted_until(NAME, "") == 90
    checkpoints.forget(NAME, partition_key(*NAME), 70)
    assert checkpoints.doubted_until(NAME, "") == 90
    assert checkpoints.doubted_until(NAME, "0" * 32) == 0  # another topic
    checkpoints.forget(NAME, partition_key(*NAME), 120)
    assert checkpoints.doubted_until(NAME, "") == 120
    for number in (1, 2):
        checkpoints.forget(TopicPartition("t", number), partition_key("t", number), 5)
    assert checkpoints.doubted_until(NAME, "") == 0  # long ago
