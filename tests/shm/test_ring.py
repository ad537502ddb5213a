"""The ring in one process: edges, fullness, and long random runs against a list."""

import random

import pytest

from headrace.errors import CorruptRing
from headrace.shm import layout
from headrace.shm.ring import RingReader, RingWriter

CAPACITY = layout.RING_CAPACITY_MIN


def ends(region):
    return RingWriter(region), RingReader(region)


def ends_at(region, position):
    """Both ends after `position` bytes of traffic."""
    region.words[layout.RING_TAIL // 8] = region.words[layout.RING_HEAD // 8] = position
    return ends(region)


def drain(reader, limit=1_000):
    polled = [(kind, bytes(body)) for kind, body in reader.poll(limit)]
    reader.release()
    return polled


def test_nothing_is_seen_before_the_commit(new_ring_region):
    writer, reader = ends(new_ring_region())
    assert writer.write(3, b"head", memoryview(b"payload"))
    assert reader.poll(10) == []
    writer.commit()
    assert drain(reader) == [(3, b"headpayload")]
    assert drain(reader) == []


def test_an_empty_message_is_a_message(new_ring_region):
    writer, reader = ends(new_ring_region())
    assert writer.write(1, b"")
    assert writer.write(2, b"", b"")
    writer.commit()
    assert drain(reader) == [(1, b""), (2, b"")]


def test_what_was_polled_may_be_changed_in_place(new_ring_region):
    region = new_ring_region()
    writer, reader = ends(region)
    writer.write(1, b"", b"offset=?")
    writer.commit()
    [(_, body)] = reader.poll(1)
    body[7:8] = b"9"
    assert bytes(body) == b"offset=9"
    assert bytes(region.memory[layout.RING_DATA + 8 :][:8]) == b"offset=9"


def test_the_limit_counts_messages_and_the_rest_comes_next(new_ring_region):
    writer, reader = ends_at(new_ring_region(), CAPACITY - 32)
    for kind in range(1, 8):
        assert writer.write(kind, b"12345678")
    writer.commit()
    assert [kind for kind, _ in drain(reader, 3)] == [1, 2, 3]
    assert [kind for kind, _ in reader.poll(3)] == [4, 5, 6]
    assert [kind for kind, _ in reader.poll(3)] == [7], "polled twice before one release"
    reader.release()
    assert drain(reader) == []


def test_the_largest_message_fits_an_empty_ring_wherever_its_ends_stand(new_ring_region):
    region = new_ring_region()
    for position in (*range(0, CAPACITY, 8), 2**40 + 8):
        writer, reader = ends_at(region, position)
        assert writer.message_bytes_max == CAPACITY // 2 - 8
        largest = random.Random(position).randbytes(writer.message_bytes_max)
        assert writer.write(1, largest[:32], memoryview(largest)[32:]), position
        writer.commit()
        assert drain(reader) == [(1, largest)], position


def test_a_message_above_the_largest_is_a_mistake_of_ours(new_ring_region):
    writer, _reader = ends(new_ring_region())
    with pytest.raises(AssertionError):
        writer.write(1, bytes(writer.message_bytes_max + 1))
    with pytest.raises(AssertionError):
        writer.write(layout.KIND_PADDING, b"")
    with pytest.raises(AssertionError):
        writer.write(layout.KIND_MAX + 1, b"")


@pytest.mark.parametrize("position", [0, 8, CAPACITY - 8, CAPACITY - 64])
@pytest.mark.parametrize("body_bytes", [0, 8, 24, 56, 120])
def test_a_ring_fills_to_its_last_byte_and_says_so(new_ring_region, position, body_bytes):
    region = new_ring_region()
    writer, reader = ends_at(region, position)
    sent = []
    while writer.write(1, body := bytes([len(sent) % 251]) * body_bytes):
        sent.append((1, body))
    writer.commit()
    used = region.words[layout.RING_TAIL // 8] - region.words[layout.RING_HEAD // 8]
    if position % (body_bytes + 8) == 0:
        assert used == CAPACITY, "exactly full"
    assert CAPACITY - used < 2 * (body_bytes + 8)
    assert not writer.write(1, bytes(body_bytes))
    assert drain(reader) == sent
    assert writer.write(1, b"room again")


def test_a_write_that_found_the_ring_full_left_no_trace(new_ring_region):
    writer, reader = ends(new_ring_region())
    while writer.write(1, b"x" * 56):
        pass
    writer.commit()
    drain(reader)
    assert writer.write(2, b"after")
    writer.commit()
    assert drain(reader) == [(2, b"after")]


@pytest.mark.parametrize("seed", range(8))
def test_a_random_run_equals_a_list(new_ring_region, seed):
    rng = random.Random(seed)
    writer, reader = ends_at(new_ring_region(), rng.randrange(0, 4 * CAPACITY, 8))
    written, committed, received = [], 0, []
    for _ in range(2_000):
        action = rng.random()
        if action < 0.6:
            longest = rng.choice([8, 64, 300, writer.message_bytes_max])
            body = rng.randbytes(rng.randint(0, longest))
            kind = rng.randint(1, layout.KIND_MAX)
            cut = rng.randint(0, len(body))
            if writer.write(
                kind, body[:cut], memoryview(body)[cut:] if rng.random() < 0.8 or cut < len(body) else None
            ):
                written.append((kind, body))
        elif action < 0.8:
            writer.commit()
            committed = len(written)
        else:
            received += drain(reader, rng.randint(1, 20))
            assert received == written[: len(received)], f"seed {seed}"
            assert len(received) <= committed, f"seed {seed}"
    writer.commit()
    received += drain(reader, 10_000)
    assert received == written, f"seed {seed}"
    assert len(written) > 300, f"seed {seed}"


def test_ends_that_contradict_each_other_are_not_attached(new_ring_region):
    for tail, head in [(8, 16), (CAPACITY + 8, 0), (12, 8), (16, 12), (2**64 - 8, 0)]:
        region = new_ring_region()
        region.words[layout.RING_TAIL // 8], region.words[layout.RING_HEAD // 8] = tail, head
        for end in (RingWriter, RingReader):
            with pytest.raises(CorruptRing, match=str(tail)):
                end(region)


@pytest.mark.parametrize("head", [-8, 8 - CAPACITY, 8, 4, 2**40])
def test_a_writer_does_not_believe_an_impossible_head(new_ring_region, head):
    region = new_ring_region()
    writer, _reader = ends_at(region, 2 * CAPACITY)
    while writer.write(1, b"x" * 56):
        writer.commit()
    tail = region.words[layout.RING_TAIL // 8]
    region.words[layout.RING_HEAD // 8] = head + (2 * CAPACITY if head < 0 else tail)
    with pytest.raises(CorruptRing, match="head"):
        writer.write(1, b"x" * 56)
    assert region.words[layout.RING_TAIL // 8] == tail


def test_a_corrupt_ring_stays_corrupt(new_ring_region):
    region = new_ring_region()
    writer, reader = ends(region)
    writer.write(1, b"good")
    writer.commit()
    region.words[layout.RING_DATA // 8] = 2**31
    for _ in range(3):
        with pytest.raises(CorruptRing, match="2147483648 bytes"):
            reader.poll(10)


def test_a_poll_takes_no_further_message_once_it_has_its_bytes(new_ring_region):
    writer, reader = ends(new_ring_region())
    for kind in (1, 2, 3):
        assert writer.write(kind, b"x" * 24)
    writer.commit()
    assert [kind for kind, _ in reader.poll(10, 1)] == [1], "the first one always comes"
    assert [kind for kind, _ in reader.poll(10, 33)] == [2, 3]


def test_release_says_whether_the_writer_may_be_waiting_for_room(new_ring_region):
    writer, reader = ends(new_ring_region())
    assert writer.write(1, b"x")
    writer.commit()
    reader.poll(10)
    assert not reader.release()
    while writer.write(1, b"x" * 100):
        pass
    writer.commit()
    reader.poll(1)
    assert reader.release()
    reader.poll(1000)
    assert reader.release()
    assert not reader.release()
