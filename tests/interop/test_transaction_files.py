"""kafka-dump-log reads transactions as a node keeps them: markers, transaction indexes, snapshots with one still open."""

import re

import pytest

from headrace.clock import SystemClock
from headrace.ids import TopicPartition
from headrace.log.config import LogConfig
from headrace.log.reading.aborted_transactions import read_aborted
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.writing.log_environment import LogEnvironment
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol.record_batch import TRANSACTIONAL_BIT, build_batch

pytestmark = pytest.mark.interop


@pytest.fixture
def log(tmp_path):
    """Two producers, one of which aborts now and then; a third with its transaction open at the end."""
    clock = SystemClock()
    name = TopicPartition("transactional", 0)
    log = PartitionLog.open(
        tmp_path / str(name), name, LogConfig(segment_bytes=4000), LogCheckpoint(is_clean=True), LogEnvironment(clock)
    )
    sequences = {}

    def write(producer_id):
        sequence = sequences.get(producer_id, 0)
        sequences[producer_id] = sequence + 2
        one = build_batch(
            [(b"k", b"v" * 50)] * 2, timestamp_ms=clock.now_ms(), producer_id=producer_id, producer_epoch=3,
            base_sequence=sequence, attributes=TRANSACTIONAL_BIT,
        )  # fmt: skip
        assert log.append_as_leader([memoryview(bytearray(one))], 5, clock.now_ms())[0][0] == 0

    for number in range(40):
        producer_id = 1000 + number % 2
        write(producer_id)
        assert log.append_marker(producer_id, 3, 7, number % 3 == 0, 5, clock.now_ms())[0] == 0
    write(1002)
    log.close()
    return log


def test_dump_log_reads_markers_and_aborted_transactions(log, tools):
    segments = sorted(log.directory.glob("*.log"))
    assert len(segments) > 2
    report = tools.dump(*segments)
    assert "isvalid: false" not in report
    kinds = re.findall(r"endTxnMarker: (COMMIT|ABORT) coordinatorEpoch: 7", report)
    assert [kind == "ABORT" for kind in kinds] == [number % 3 == 0 for number in range(40)]
    wanted = [one for path in sorted(log.directory.glob("*.txnindex")) for one in read_aborted(path)]
    assert len(wanted) == 14
    report = tools.dump(*sorted(log.directory.glob("*.txnindex")), options=[])
    found = re.findall(
        r"version: 0 producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)", report
    )
    assert [tuple(map(int, one)) for one in found] == [tuple(one) for one in wanted]


def test_dump_log_reads_a_snapshot_with_an_open_transaction(log, tools):
    newest = max(log.directory.glob("*.snapshot"))
    report = tools.dump(newest, options=[])
    found = dict(re.findall(r"producerId: (\d+) producerEpoch: 3 .*?currentTxnFirstOffset: (\S+)", report))
    assert set(found) == {"1000", "1001", "1002"}, report
    assert "120" in found["1002"]
    assert "120" not in found["1000"]
    assert report.count("coordinatorEpoch: 7") == 2
