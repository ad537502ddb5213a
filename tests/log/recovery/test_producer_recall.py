"""Batches that were in flight when their log's owner was killed, sent again after a snapshot was taken among them."""

import pytest

from headrace.log.config import LogConfig
from headrace.log.recovery import producer_recall
from tests.support.fake_clock import NOW_MS
from tests.support.log_fixtures import batch

OUT_OF_ORDER = 45
CONFIG = LogConfig(segment_bytes=2000)


def one(sequence, producer_id=1, size=100):
    return batch(producer_id=producer_id, producer_epoch=0, base_sequence=sequence, size=size)


def append(log, *batches):
    return [result[:2] for result in log.append_as_leader(list(batches), 0, NOW_MS)]


def killed(maker, log, **how):
    """Its successor."""
    trusted = (log.end_segment, log.end_position)
    log.abandon()
    return maker.open(log.config, **({"trusted": trusted} | how))


@pytest.mark.parametrize("how", [{}, {"trusted": None}], ids=["worker", "machine"])
def test_batches_sent_again_after_a_kill_are_known_over_a_roll(maker, how):
    log = maker.open()
    append(log, one(0), one(1), one(2))
    log.roll_if_older(2**62)
    append(log, one(3), one(4))
    log = killed(maker, log, **how)
    assert append(log, *(one(sequence) for sequence in range(6))) == [(0, offset) for offset in range(6)]


def test_batches_are_known_over_a_snapshot_within_a_segment(maker):
    log = maker.open(snapshot_interval_bytes=500)
    for sequence in range(5):
        append(log, one(sequence))
    log = killed(maker, log)
    assert append(log, *(one(sequence) for sequence in range(6))) == [(0, offset) for offset in range(6)]


def test_batches_are_known_over_many_short_segments_and_among_those_of_others(maker):
    log = maker.open(LogConfig(segment_bytes=400))
    for sequence in range(8):
        append(log, one(sequence, 1), one(sequence, 2), batch())
    before = {name: [each[:4] for each in known.batches] for name, known in log.producers.producers.items()}
    assert len(log.segment_bases) > 8
    log = killed(maker, log)
    after = {name: [each[:4] for each in known.batches] for name, known in log.producers.producers.items()}
    assert after == before
    assert [len(known) for known in after.values()] == [5, 5]


def test_no_gap_is_bridged(maker):
    """A producer's state expired, and it went on with another sequence."""
    log = maker.open(producer_expiration_ms=1_000)
    append(log, one(0), one(1))
    maker.clock.ms += 10_000
    log.producers.expire(maker.clock.ms)
    log.producers.update(1, 0, 16, 0, 1, maker.clock.ms)  # as Kafka let it
    append(log, one(17))
    log.roll_if_older(2**62)
    log = killed(maker, log)
    assert [each.first_sequence for each in log.producers.producers[1].batches] == [17]
    assert append(log, one(17), one(1)) == [(0, 2), (OUT_OF_ORDER, -1)]


def test_no_more_is_read_than_the_bound(maker, monkeypatch):
    monkeypatch.setattr(producer_recall, "RECALL_BYTES_MAX", 450)
    log = maker.open(LogConfig(index_interval_bytes=1))
    append(log, *(one(sequence) for sequence in range(30)))
    log.roll_if_older(2**62)
    log = killed(maker, log)
    known = [each.first_sequence for each in log.producers.producers[1].batches]
    assert 1 < len(known) < 5
    assert known == list(range(30 - len(known), 30))


def test_damage_before_the_snapshot_costs_what_is_known_there_and_no_more(maker):
    log = maker.open()
    append(log, one(0), one(1), one(2))
    log.roll_if_older(2**62)
    path = min(maker.directory.glob("*.log"))
    path.write_bytes(path.read_bytes()[:5] + b"\xff" * 50 + path.read_bytes()[55:])
    log = killed(maker, log)
    assert append(log, one(2), one(3)) == [(0, 2), (0, 3)]
