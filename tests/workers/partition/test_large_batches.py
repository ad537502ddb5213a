"""Batches that no ring message holds: the parts of many at once, parts without an end, ends without their parts."""

from headrace.limits import BATCH_PARTS_AGE_MS_MAX
from headrace.protocol.record_batch import HEADER_BYTES
from headrace.shm.messages import PRODUCE_PART_HEADER
from headrace.workers.partition import large_batches
from headrace.workers.partition.large_batches import LargeBatches

NETWORK, OTHER = 0, 1


def part(request_id, content, index=0):
    return memoryview(PRODUCE_PART_HEADER.pack(request_id, index) + content)


def finish(large, request_id, size, end, process_id=NETWORK, index=0):
    batch = large.finish(process_id, request_id, index, size, memoryview(end))
    return None if batch is None else bytes(batch)


def test_parts_of_several_batches_and_peers_come_together_in_any_mixture():
    large = LargeBatches(1000)
    large.take(NETWORK, part(1, b"ab"), 0)
    large.take(OTHER, part(1, b"xy"), 0)
    large.take(NETWORK, part(2, b"12"), 0)
    large.take(NETWORK, part(1, b"cd"), 0)
    large.take(NETWORK, part(1, b"!", index=1), 0)
    assert finish(large, 2, 2, b"3") == b"123"
    assert finish(large, 1, 4, b"ef") == b"abcdef"
    assert finish(large, 1, 1, b"?", index=1) == b"!?"
    assert finish(large, 1, 2, b"z", OTHER) == b"xyz"
    assert not large


def test_a_batch_may_be_stamped_where_it_lies():
    large = LargeBatches(1000)
    large.take(NETWORK, part(1, b"ab"), 0)
    batch = large.finish(NETWORK, 1, 0, 2, memoryview(b"c"))
    batch[0:1] = b"A"
    assert bytes(batch) == b"Abc"


def test_an_end_whose_parts_are_gone_or_short_is_no_batch():
    large = LargeBatches(1000)
    assert finish(large, 1, 2, b"c") is None
    large.take(NETWORK, part(1, b"ab"), 0)
    assert finish(large, 1, 3, b"c") is None
    assert not large


def test_beyond_its_bound_a_peer_loses_its_own_oldest_batch():
    large = LargeBatches(5)
    large.take(OTHER, part(9, b"xyz"), 0)
    large.take(NETWORK, part(1, b"abc"), 0)
    large.take(NETWORK, part(2, b"def"), 0)
    assert finish(large, 1, 3, b"") is None
    assert finish(large, 2, 3, b"") == b"def"
    assert finish(large, 9, 3, b"", OTHER) == b"xyz"
    large.take(NETWORK, part(3, b"ghijk"), 0)
    assert finish(large, 3, 5, b"") == b"ghijk", "what was given back counts no more"


def test_of_a_batch_whose_parts_are_gone_the_header_is_known_once():
    large = LargeBatches(300)
    header = bytes(range(HEADER_BYTES))
    large.take(NETWORK, part(1, header + b"records"), 0)
    large.take(NETWORK, part(2, bytes(250)), 0)
    large.take(NETWORK, part(1, b"more of what is gone"), 0)
    assert len(large) == 1, "nothing is begun with a later part"
    assert finish(large, 1, 300, b"") is None
    assert bytes(large.header(NETWORK, 1, 0)) == header
    assert bytes(large.header(NETWORK, 1, 0)) == b""
    large.expire(BATCH_PARTS_AGE_MS_MAX)
    assert bytes(large.header(NETWORK, 2, 0)) == bytes(HEADER_BYTES)


def test_headers_have_a_bound_and_go_with_their_peer(monkeypatch):
    monkeypatch.setattr(large_batches, "REFUSED_PRODUCERS_MAX", 2)
    large = LargeBatches(1000)
    for request_id in range(3):
        large.take(NETWORK, part(request_id, b"ab"), 0)
    large.take(OTHER, part(9, b"xy"), 0)
    large.expire(BATCH_PARTS_AGE_MS_MAX)
    assert [bytes(large.header(NETWORK, request_id, 0)) for request_id in range(3)] == [b"", b"", b"ab"]
    large.forget(OTHER)
    assert bytes(large.header(OTHER, 9, 0)) == b""


def test_what_nobody_ends_goes_after_a_while_and_with_its_peer():
    large = LargeBatches(1000)
    large.take(NETWORK, part(1, b"ab"), 0)
    large.take(NETWORK, part(2, b"ab"), 10)
    large.take(OTHER, part(1, b"ab"), 10)
    large.expire(BATCH_PARTS_AGE_MS_MAX)
    assert finish(large, 1, 2, b"") is None
    assert len(large) == 2
    large.forget(NETWORK)
    assert len(large) == 1
    assert finish(large, 1, 2, b"", OTHER) == b"ab"
