"""The relations between the offsets that the asserts of layout.py can't see."""

import pytest

from headrace.limits import RING_BYTES_MAX, RING_BYTES_MIN
from headrace.shm import layout
from headrace.shm.region import Region


@pytest.mark.parametrize("capacity", [layout.RING_CAPACITY_MIN, 4096, RING_BYTES_MIN, RING_BYTES_MAX])
def test_a_region_rounded_up_to_pages_still_tells_its_ring_capacity(capacity):
    size_bytes = -(-layout.ring_region_bytes(capacity) // 4096) * 4096
    assert layout.ring_capacity(size_bytes) == capacity


def test_no_two_writers_share_a_line_of_a_process_row():
    row = layout.PROCESS_ROWS // layout.WORD
    supervisor = {(row + word) * layout.WORD // layout.LINE for word in range(layout.PROCESS_EXIT_CODE + 1)}
    own = {(row + word) * layout.WORD // layout.LINE for word in range(layout.PROCESS_PARKED, layout.PROCESS_ROW_WORDS)}
    next_row = (row + layout.PROCESS_ROW_WORDS) * layout.WORD // layout.LINE
    assert not supervisor & own
    assert next_row not in supervisor | own


def test_the_magic_can_be_read_in_a_dump(names):
    region = Region.create(names(), 4096)
    assert bytes(region.memory[:8]) == b"EHDRACE1"


def test_generations_of_a_ring_do_not_mix():
    assert layout.ring_generation(1, 2) != layout.ring_generation(2, 1)
