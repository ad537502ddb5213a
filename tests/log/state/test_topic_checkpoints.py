"""Checkpoint entries are believed of the topic they were written of, and of no other by its name."""

import pytest

from headrace.ids import TopicPartition
from headrace.log.state.checkpoints import (
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    BadCheckpoint,
    write_clean_shutdown,
    write_offset_checkpoint,
    write_partition_metadata,
)
from headrace.log.state.topic_checkpoints import (
    CHECKPOINT_TOPICS_FILE,
    TopicCheckpoints,
    read_checkpoint_topics,
    seal,
    write_checkpoint_topics,
)

NAME = TopicPartition("t", 0)
OTHER = TopicPartition("a b", 7)
A, B = "0a" * 16, "0b" * 16


def add_directory(log_dir, name, topic_id):
    (log_dir / str(name)).mkdir()
    if topic_id:
        write_partition_metadata(log_dir / str(name) / "partition.metadata", topic_id)


def start_of(log_dir, topic_id, name=NAME):
    return TopicCheckpoints.read(log_dir).offset(LOG_START_OFFSET_FILE, name, topic_id)


def test_an_entry_is_believed_of_its_topic_alone(tmp_path):
    write_offset_checkpoint(tmp_path / LOG_START_OFFSET_FILE, {NAME: 800, OTHER: 5})
    assert [start_of(tmp_path, topic_id) for topic_id in (A, B, "")] == [800, 800, 800]  # as Kafka would
    write_checkpoint_topics(tmp_path / CHECKPOINT_TOPICS_FILE, {NAME: A})
    assert [start_of(tmp_path, topic_id) for topic_id in (A, B, "")] == [800, None, None]
    assert start_of(tmp_path, B, OTHER) == 5


def test_the_file_reads_as_it_was_written(tmp_path):
    path = tmp_path / CHECKPOINT_TOPICS_FILE
    write_checkpoint_topics(path, {NAME: A, OTHER: B})
    assert read_checkpoint_topics(path) == {NAME: A, OTHER: B}
    assert path.read_text().splitlines() == ["0", "2", f"a b 7 {B}", f"t 0 {A}"]


@pytest.mark.parametrize("line", ["t 0 0a", f"t {A}", f"t -1 {A}", f"t x {A}", "", "\0"])
def test_a_file_of_another_form_is_ignored_with_a_word(tmp_path, line, caplog):
    (tmp_path / CHECKPOINT_TOPICS_FILE).write_text(f"0\n1\n{line}\n")
    with pytest.raises(BadCheckpoint, match=CHECKPOINT_TOPICS_FILE):
        read_checkpoint_topics(tmp_path / CHECKPOINT_TOPICS_FILE)
    write_offset_checkpoint(tmp_path / LOG_START_OFFSET_FILE, {NAME: 800})
    assert start_of(tmp_path, A) == 800
    assert CHECKPOINT_TOPICS_FILE in caplog.text


def test_what_a_clean_stop_or_kafka_left_belongs_to_the_topics_in_the_directories(tmp_path):
    add_directory(tmp_path, NAME, A)
    add_directory(tmp_path, OTHER, "")  # from before ids
    for file_name in (LOG_START_OFFSET_FILE, RECOVERY_POINT_FILE):
        write_offset_checkpoint(tmp_path / file_name, {NAME: 800, OTHER: 5})
    seal(tmp_path)
    assert read_checkpoint_topics(tmp_path / CHECKPOINT_TOPICS_FILE) == {NAME: A}
    assert [start_of(tmp_path, topic_id) for topic_id in (A, B)] == [800, None]


@pytest.mark.parametrize("is_kafkas", [False, True])
def test_what_was_known_stands_unless_kafka_wrote_since(tmp_path, is_kafkas):
    """Our clean stop removes the file before it leaves its marker: beside one it is from before Kafka."""
    add_directory(tmp_path, NAME, B)
    write_offset_checkpoint(tmp_path / LOG_START_OFFSET_FILE, {NAME: 800})
    write_checkpoint_topics(tmp_path / CHECKPOINT_TOPICS_FILE, {NAME: A})
    if is_kafkas:
        write_clean_shutdown(tmp_path)
    seal(tmp_path)
    assert start_of(tmp_path, B) == (800 if is_kafkas else None)


def test_nothing_is_written_where_there_is_nothing_to_keep(tmp_path):
    seal(tmp_path)
    assert list(tmp_path.iterdir()) == []
