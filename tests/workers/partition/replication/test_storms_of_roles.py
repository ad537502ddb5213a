"""After any storm of roles a log's epoch file says what its batches say, but for one epoch without a record at its end.

Three brokers lead in turns, often without a record; one of them is a real follower, which proves its log under each leader.
"""

import random

import pytest

from headrace.log.disk import Disk
from headrace.log.recovery.epoch_scan import epochs_in
from tests.support.log_fixtures import all_bytes
from tests.workers.partition.replication.follower_rig import epochs_with_records
from tests.workers.partition.replication.test_truncation import Stage, _bring, write

TURNS = 6


def scanned(log):
    """What the batches say."""
    found = []
    for base in log.segment_bases:
        size = log.end_position if base == log.end_segment else (log.directory / f"{base:020}.log").stat().st_size
        found += [one for one in epochs_in(log.directory, base, size, Disk()) if not found or one[0] > found[-1][0]]
    return found


def assert_true(log, seed):
    assert epochs_with_records(log) == scanned(log), f"seed {seed}"
    rest = log.epochs.entries[len(epochs_with_records(log)) :]
    assert [start for _epoch, start in rest] in ([], [log.log_end_offset]), f"seed {seed}"


@pytest.mark.parametrize("ibp", ["2.6", "3.9"])
@pytest.mark.parametrize("seed", range(12))
def test_the_file_says_what_the_batches_say(make_rig, tmp_path, ibp, seed):
    chance = random.Random(seed)
    stage = Stage(make_rig, tmp_path, ibp)
    rig = stage.rig
    brokers = [stage.broker()[0] for _ in range(2)]
    for led in brokers:
        led.high_watermark = 0  # nothing is committed: each may be truncated
    rig.follow(leader=0, epoch=0)
    logs = [rig.log, *(led.log for led in brokers)]
    try:
        for epoch in range(1, 13):
            number = chance.randrange(3)
            count = chance.choice([0, 0, 1, 2, 5])
            if number:
                led = brokers[number - 1].lead(epoch)
                led.append(count, size=chance.randrange(20, 400))
                rig.follow(leader=number, epoch=epoch)
                if chance.random() < 0.7:
                    rig.follow_until(led, f"seed {seed}")
                    assert all_bytes(rig.log) == all_bytes(led.log)
                else:
                    rig.settle(TURNS)
            else:
                rig.follow(leader=0, epoch=epoch)
                write(rig.log, epoch, count, size=chance.randrange(20, 400))
            rig.replica.high_watermark = 0
            for other in logs[1:]:
                if other is not logs[number] and chance.random() < 0.6:
                    _bring(other, logs[number], chance)
            assert_true(rig.log, seed)
        assert not rig.node.replicas.moved.take_ahead()
    finally:
        stage.close()
