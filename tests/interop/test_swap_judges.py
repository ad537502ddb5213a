"""The judges of a swap catch each thing that they are for; no broker is needed.

Holds nothing of the sources: `tests/interop/acked_load.py`, `replica_files.py`, `broker_logs.py`.
"""

import pytest

from headrace.protocol.record_batch import build_batch
from tests.interop.acked_load import NativeLoad, judge
from tests.interop.broker_logs import OF_A_STOPPED_CONTROLLER, OF_KAFKA_ALONE, OF_REASSIGNMENTS, severe_lines
from tests.interop.replica_files import batches, differences


class Load(NativeLoad):
    """What a producer knows, without one."""

    def __init__(self, acked, sent, unplaced=()):
        self.acked, self.unplaced, self.sent, self.name, self.failures = acked, list(unplaced), sent, "load0", []


WRITTEN = [(0, b"load0-0"), (1, b"load0-1"), (2, b"load0-2")]
ACKED = {(0, offset): value for offset, value in WRITTEN}


def test_nothing_is_wrong_with_what_was_written_once():
    assert judge([Load(ACKED, [3])], {0: WRITTEN}) == []
    assert judge([Load({}, [3])], {0: WRITTEN}) == []  # there, and not acknowledged yet


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (WRITTEN[:2], "lost"),
        ([*WRITTEN, (3, b"load0-2")], "duplicated"),
        ([WRITTEN[0], (1, b"load0-2"), (2, b"load0-1")], "disordered"),
        ([(1, b"load0-0"), (2, b"load0-1"), (3, b"load0-2")], "displaced"),
        ([*WRITTEN, (3, b"load0-3")], "unknown"),
    ],
)
def test_each_anomaly_is_found(found, word):
    assert any(word in line for line in judge([Load(ACKED, [3])], {0: found}))


def test_a_duplicate_that_is_acknowledged_without_an_offset_has_to_be_there():
    """librdkafka tells no offset then; one of 30 swaps was called wrong for it, though each replica had the record once."""
    some = {place: value for place, value in ACKED.items() if value != b"load0-1"}
    assert judge([Load(some, [3], [(0, b"load0-1")])], {0: WRITTEN}) == []
    assert judge([Load(some, [3], [(0, b"load0-7"), (1, b"load0-1")])], {0: WRITTEN}) == [
        "lost: b'load0-7' acknowledged in 0", "lost: b'load0-1' acknowledged in 1"
    ]  # fmt: skip


def batch(offset, value, epoch=0):
    data = bytearray(build_batch([(None, value)], timestamp_ms=1))
    data[:8] = offset.to_bytes(8, "big")
    data[12:16] = epoch.to_bytes(4, "big")
    return bytes(data)


def write(log_dir, *found):
    directory = log_dir / "t-0"
    directory.mkdir(parents=True)
    (directory / f"{0:020d}.log").write_bytes(b"".join(found))
    return log_dir


def test_equal_replicas_have_no_differences_wherever_their_logs_begin(tmp_path):
    dirs = {
        1: write(tmp_path / "1", batch(0, b"a"), batch(1, b"b")),
        2: write(tmp_path / "2", batch(1, b"b")),
        3: write(tmp_path / "3", batch(0, b"a"), batch(1, b"b")[:-1]),
    }
    assert differences({1: dirs[1], 2: dirs[2]}, "t", 0, [1, 2]) == []
    assert len(batches(dirs[3] / "t-0")) == 1  # not whole yet


@pytest.mark.parametrize(
    "other", [batch(1, b"c"), batch(1, b"b", epoch=1), b"", batch(1, b"b") + batch(2, b"c")], ids=range(4)
)
def test_a_replica_that_differs_is_found(tmp_path, other):
    one = write(tmp_path / "1", batch(0, b"a"), batch(1, b"b"))
    two = write(tmp_path / "2", batch(0, b"a"), other)
    assert differences({1: one, 2: two}, "t", 0, [1, 2])


def test_a_wrong_checksum_is_found(tmp_path):
    log_dir = write(tmp_path / "1", batch(0, b"a")[:-1] + b"!")
    with pytest.raises(AssertionError, match="checksum"):
        batches(log_dir / "t-0")


def test_errors_of_both_kinds_are_found_from_a_place_on(tmp_path):
    log = tmp_path / "broker.log"
    log.write_text("2026-01-01 10:00:00,000 ERROR [kafka] kafka.X: old\n")
    position = log.stat().st_size
    with open(log, "a") as file:
        file.write("2026-01-01 10:00:00,000 INFO [kafka] kafka.X: ERROR is a word\n")
    assert severe_lines(log, position) == []
    with open(log, "a") as file:
        file.write("2026-01-01 10:00:01,000 ERROR [kafka] kafka.X: new\njava.lang.X\n\tat y\n")
        file.write("2026-01-01 10:00:02,000 CRITICAL [77] headrace.x: ended\nTraceback (most recent call last):\n")
    assert len(severe_lines(log, position)) == 3


def test_what_kafkas_controller_says_of_its_own_states_is_allowed_where_none_of_ours_takes_part(tmp_path):
    log = tmp_path / "broker.log"
    line = (
        "2026-01-01 10:00:00,000 ERROR [kafka] state.change.logger: [Controller id=2 epoch=1] Controller 2 epoch 1 initiated"
        " state change of replica 1 for partition t-0 from NewReplica to NewReplica failed\n"
        "java.lang.IllegalStateException: Replica [...] should be in the NonExistentReplica states\n"
    )
    log.write_text(
        f"{line}\tat kafka.controller.ZkReplicaStateMachine.logInvalidTransition(ReplicaStateMachine.scala:442)\n"
    )
    assert len(severe_lines(log, allowed=OF_REASSIGNMENTS)) == 1
    assert severe_lines(log, allowed=OF_KAFKA_ALONE) == []
    log.write_text(
        f"{line}\tat kafka.controller.ZkReplicaStateMachine.logFailedStateChange(ReplicaStateMachine.scala:440)\n"
    )
    assert len(severe_lines(log, allowed=OF_KAFKA_ALONE)) == 1


def test_a_controller_of_kafkas_that_is_stopped_may_say_that_it_was_interrupted_and_nothing_else(tmp_path):
    log = tmp_path / "broker.log"
    line = (
        "2026-01-01 10:00:00,000 ERROR [kafka] kafka.controller.RequestSendThread: [RequestSendThread controllerId=2] Controller 2"
        " fails to send a request to broker localhost:9092 (id: 1 rack: null)\njava.lang.{}\n\tat java.base/x\n"
    )
    log.write_text(line.format("InterruptedException"))
    assert severe_lines(log, allowed=OF_A_STOPPED_CONTROLLER) == []
    log.write_text(line.format("IllegalStateException"))
    assert len(severe_lines(log, allowed=OF_A_STOPPED_CONTROLLER)) == 1
