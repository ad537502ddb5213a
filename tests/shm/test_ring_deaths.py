"""The writer or the reader dies at every single bytecode; what it leaves is whole messages."""

import os
import random
import signal
import time
import zlib

import pytest

from headrace.shm import layout, ring
from headrace.shm.region import Region
from headrace.shm.ring import RingReader, RingWriter
from tests.support.stepping import die_at, exit_code, fork, steps

pytestmark = pytest.mark.process

CAPACITY = layout.RING_CAPACITY_MIN
COMMITS = [[(1, b"a" * 30), (2, b"b" * 100)], [(3, b"")], [(4, b"d" * 64)]]
LARGE_BYTES = 1 << 20


def publish(name: str) -> None:
    writer = RingWriter(Region.attach(name))
    for messages in COMMITS:
        for kind, body in messages:
            assert writer.write(kind, body[:8], memoryview(body)[8:])
        writer.commit()


def test_a_writer_killed_at_any_step_leaves_whole_commits(new_ring_region):
    prefixes = [[message for commit in COMMITS[:count] for message in commit] for count in range(len(COMMITS) + 1)]
    seen = set()
    for step in steps():
        region = new_ring_region()
        start = CAPACITY - 96  # the second message wraps
        region.words[layout.RING_TAIL // 8] = region.words[layout.RING_HEAD // 8] = start
        has_finished = die_at(step, lambda name=region.name: publish(name), [ring])
        found = [(kind, bytes(body)) for kind, body in RingReader(region).poll(100)]
        assert found in prefixes, f"step {step}"
        seen.add(len(found))
        if has_finished:
            break
    assert found == prefixes[-1]
    assert seen == {len(prefix) for prefix in prefixes}, "the kills hit every stage"


def consume(name: str) -> None:
    reader = RingReader(Region.attach(name))
    for _ in range(2):
        for _kind, body in reader.poll(2):
            body[:1] = b"?"
        reader.release()


def test_a_reader_killed_at_any_step_has_released_whole_messages_and_the_writer_goes_on(new_ring_region):
    sent = [(kind, bytes([kind]) * 200) for kind in range(1, 6)]
    seen = set()
    for step in steps():
        region = new_ring_region()
        writer = RingWriter(region)
        for kind, body in sent:
            assert writer.write(kind, body)
        writer.commit()
        has_finished = die_at(step, lambda name=region.name: consume(name), [ring])
        left = [kind for kind, _ in RingReader(region).poll(100)]
        assert left in ([1, 2, 3, 4, 5], [3, 4, 5], [5]), f"step {step}"
        seen.add(len(left))
        while writer.write(9, b"more"):
            pass
        writer.commit()
        assert [kind for kind, _ in RingReader(region).poll(1_000)][: len(left)] == left
        if has_finished:
            break
    assert seen == {5, 3, 1}


def test_a_writer_killed_within_a_large_copy_leaves_whole_messages(new_ring_region):
    """What bytecodes can't split: the copy itself. The kill comes at random times of a stream of 1 MiB messages."""
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(20):
        region = new_ring_region(1 << 22)

        def stream(name: str = region.name) -> None:
            writer = RingWriter(Region.attach(name))
            number = 0
            while True:
                body = bytes([number % 256]) * (LARGE_BYTES - 100)
                if writer.write(1, zlib.crc32(body).to_bytes(8, "little"), body):
                    writer.commit()
                    number += 1

        reader = RingReader(region)
        pid = fork(stream)
        end_ns = time.monotonic_ns() + 2_000_000 + rng.randrange(4_000_000)
        received, is_alive = 0, True
        while True:
            if is_alive and time.monotonic_ns() > end_ns and received:
                os.kill(pid, signal.SIGKILL)
                assert exit_code(pid) == -signal.SIGKILL
                is_alive = False
            messages = reader.poll(10)
            for _kind, body in messages:
                assert zlib.crc32(body[8:]) == int.from_bytes(body[:8], "little"), f"seed {seed}"
                assert body[8] == received % 256, f"seed {seed}"
                received += 1
            reader.release()
            if not is_alive and not messages:
                break
