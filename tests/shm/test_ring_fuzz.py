"""Two processes, one ring, as fast as they can: order, content, wraparound, full and empty ring."""

import random
import time
import zlib
from itertools import pairwise

import pytest

from headrace.shm import layout
from headrace.shm.region import Region
from headrace.shm.ring import RingReader, RingWriter
from tests.support.stepping import end, exit_code, fork
from tests.support.waiting import DEADLINE_S

pytestmark = pytest.mark.process

HEADER_BYTES = 16  # number, crc32 of the payload


def payloads(seed: int, count: int, longest: int):
    """The same for writer and reader: mostly small, some empty, some the largest there can be."""
    rng = random.Random(seed)
    noise = rng.randbytes(longest + 256)
    for _ in range(count):
        length = rng.choice((0, rng.randint(0, 64), rng.randint(0, min(longest, 1_000)), longest))
        start = rng.randint(0, 255)
        yield noise[start : start + length]


def write_all(name: str, seed: int, count: int) -> None:
    writer = RingWriter(Region.attach(name))
    rng = random.Random(seed + 1)
    for number, payload in enumerate(payloads(seed, count, writer.message_bytes_max - HEADER_BYTES)):
        header = number.to_bytes(8, "little") + zlib.crc32(payload).to_bytes(8, "little")
        while not writer.write(1 + number % layout.KIND_MAX, header, memoryview(payload)):
            writer.commit()
            time.sleep(0)
        if rng.random() < 0.3:
            writer.commit()
    writer.commit()


@pytest.mark.parametrize(("capacity", "count"), [(layout.RING_CAPACITY_MIN, 30_000), (1 << 16, 10_000), (1 << 22, 600)])
def test_everything_arrives_once_in_order_and_unharmed(new_ring_region, capacity, count):
    seed = random.randrange(2**32)
    region = new_ring_region(capacity)
    reader = RingReader(region)
    expected = payloads(seed, count, capacity // 2 - 8 - HEADER_BYTES)
    pid = fork(lambda: write_all(region.name, seed, count))
    received, laps, fullest = 0, 0, 0
    deadline = time.monotonic() + 2 * DEADLINE_S
    limits = random.Random(seed + 2)
    while received < count:
        assert time.monotonic() < deadline, f"stands at {received} of {count}, seed {seed}"
        fullest = max(fullest, region.words[layout.RING_TAIL // 8] - region.words[layout.RING_HEAD // 8])
        messages = reader.poll(limits.choice((1, 2, 100)))
        if not messages:
            time.sleep(0)
        for kind, body in messages:
            payload = bytes(body[HEADER_BYTES:])
            assert payload == next(expected), f"message {received}, seed {seed}"
            assert int.from_bytes(body[:8], "little") == received, f"seed {seed}"
            assert int.from_bytes(body[8:16], "little") == zlib.crc32(payload), f"seed {seed}"
            assert kind == 1 + received % layout.KIND_MAX, f"seed {seed}"
            received += 1
        reader.release()
    laps = region.words[layout.RING_TAIL // 8] // capacity
    assert exit_code(pid) == 0
    assert laps > 50, f"it wrapped, seed {seed}"
    assert fullest > capacity // 2, f"it was full, seed {seed}"
    assert reader.poll(1) == []


def test_an_aligned_native_word_never_tears(names):
    """The fact the rings stand on, on this machine."""
    region = Region.create(names(), 4096)
    values = (0x0101010101010101, 0xFEFEFEFEFEFEFEFE)
    words = region.words
    words[100] = values[0]

    def toggle() -> None:
        while True:
            words[100] = values[1]
            words[100] = values[0]

    pid = fork(toggle)
    looks, changes, last = 0, 0, values[0]
    deadline = time.monotonic() + DEADLINE_S
    while looks < 1_000_000 or changes < 100:
        assert time.monotonic() < deadline, f"{changes} changes seen in {looks} looks"
        seen = [words[100] for _ in range(5_000)]
        assert set(seen) <= set(values), [hex(value) for value in set(seen)]
        looks += len(seen)
        changes += sum(1 for before, after in pairwise([last, *seen]) if before != after)
        last = seen[-1]
    end(pid)
