"""The checks would notice: every mutation of the publish path makes one of them fail.

The real modules pass the same checks at the head of each list (no edits).
"""

import pytest
from mutants import load_copy
from order_checks import (
    check_doorbell,
    check_nap,
    check_ring_distrust,
    check_ring_publication,
    check_ring_reuse,
    check_row_publication,
    check_row_reading,
    check_view_publication,
)

from headrace.errors import HeadraceError

RING = "headrace.shm.ring"
TABLE = "headrace.shm.partition_table"
VIEW = "headrace.shm.cluster_view"
DOORBELL = "headrace.shm.doorbell"
WORKER = "headrace.workers.partition.worker"
HOUSEKEEPER = "headrace.workers.housekeeper.worker"

RING_CHECKS = (check_ring_publication, check_ring_reuse, check_ring_distrust)
TABLE_CHECKS = (check_row_publication, check_row_reading)
VIEW_CHECKS = (check_view_publication,)

BIG_ENDIAN_RING = (
    ("self._words[_TAIL] = self._tail", 'Struct(">Q").pack_into(self._memory, RING_TAIL, self._tail)'),
    ("tail = words[_TAIL]", 'tail = Struct(">Q").unpack_from(self._memory, RING_TAIL)[0]'),
    ("self._tail = self._words[_TAIL]", 'self._tail = Struct(">Q").unpack_from(self._memory, RING_TAIL)[0]'),
    ("_check_ends(region)\n        self", "self"),
)
MUTANTS = {
    "ring: commit word first": (
        RING, RING_CHECKS, ("        memory = self._memory\n        memory[start",
                            "        memory = self._memory\n        self._words[_TAIL] = tail + total\n        memory[start"),
    ),
    "ring: tail stored between header and payload": (
        RING, RING_CHECKS, ("        if payload is not None:\n",
                            "        self._words[_TAIL] = tail + total\n        if payload is not None:\n"),
    ),
    "ring: tail stored before the message word": (
        RING, RING_CHECKS, ("        self._words[_DATA_WORD + (place >> 3)] = length | kind << 32\n",
                            "        self._words[_TAIL] = tail + total\n"
                            "        self._words[_DATA_WORD + (place >> 3)] = length | kind << 32\n"),
    ),
    "ring: tail as >Q": (RING, RING_CHECKS, *BIG_ENDIAN_RING),
    "ring: no padding at the edge": (RING, RING_CHECKS, ("self._words[_DATA_WORD + (place >> 3)] = to_end - MESSAGE_HEADER_BYTES", "pass")),
    "ring: padding not counted": (RING, RING_CHECKS, ("total = needed if needed <= to_end else needed + to_end", "total = needed")),
    "ring: full is not full": (RING, RING_CHECKS, ("self._head > capacity", "self._head > 2 * capacity")),
    "ring: released when polled": (RING, RING_CHECKS, ("        self._head = head\n        return messages",
                                                     "        self._head = self._words[_HEAD] = head\n        return messages")),
    "ring: never released": (RING, RING_CHECKS, ("        words[_HEAD] = self._head\n", "")),
    "ring: tail believed": (RING, RING_CHECKS, ("if available < 0 or available > capacity or tail & 7:", "if False:"),
                            ("if size > tail - head or place + size > capacity:", "if place + size > capacity:")),
    "ring: lengths believed": (RING, RING_CHECKS, ("if size > tail - head or place + size > capacity:", "if False:")),
    "ring: kinds believed": (RING, RING_CHECKS, ("if kind > KIND_MAX:", "if False:")),
    "row: even store first": (TABLE, TABLE_CHECKS, ("        words[base] = sequence\n", "        words[base] = sequence + 1\n")),
    "row: even store before the fields": (
        TABLE, TABLE_CHECKS, ("        words[base] = sequence\n", "        words[base] = sequence\n        words[base] = sequence + 1\n"),
    ),
    "row: no odd store": (TABLE, TABLE_CHECKS, ("        words[base] = sequence\n", "")),
    "row: stays odd": (TABLE, TABLE_CHECKS, ("        words[base] = sequence + 1\n", "")),
    "row: reader takes odd rows": (TABLE, TABLE_CHECKS, ("if sequence & 1:", "if False:")),
    "row: reader does not look again": (TABLE, TABLE_CHECKS, ("if words[base] == sequence:", "if True:")),
    "view: version first": (
        VIEW, VIEW_CHECKS, ("        buffer = version & 1\n        start =",
                            "        words[VIEW_VERSION] = version\n        buffer = version & 1\n        start ="),
    ),
    "view: one buffer": (VIEW, VIEW_CHECKS, ("buffer = version & 1", "buffer = 0")),
    "view: one length for both buffers": (VIEW, VIEW_CHECKS, ("VIEW_LENGTH + buffer * VIEW_DESCRIPTOR_WORDS", "VIEW_LENGTH")),
    "view: version as >Q": (
        VIEW, VIEW_CHECKS,
        ("        words[VIEW_VERSION] = version\n", '        Struct(">Q").pack_into(self._region.memory, VIEW_VERSION * 8, version)\n'),
        ("words[VIEW_VERSION]", "int.from_bytes(words[VIEW_VERSION].to_bytes(8, 'little'), 'big')"),
    ),
}  # fmt: skip

DOORBELL_MUTANTS = {
    "park without a fence": ("self._words[self._parked] = 1\n        fence()", "self._words[self._parked] = 1"),
    "park fences before it stores": (
        "self._words[self._parked] = 1\n        fence()", "fence()\n        self._words[self._parked] = 1",
    ),
    "ring without a fence": ("        fence()\n        if self._words", "        if self._words"),
    "ring never": ("os.eventfd_write(self.fd, 1)", "pass"),
    "park is not announced": ("self._words[self._parked] = 1", "pass"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "checks"), [(RING, RING_CHECKS), (TABLE, TABLE_CHECKS), (VIEW, VIEW_CHECKS)])
def test_the_real_modules_keep_their_order(name, checks):
    module = load_copy(name)
    for check in checks:
        check(module)


@pytest.mark.parametrize("mutation", MUTANTS)
def test_a_mutated_module_is_caught(mutation):
    name, checks, *edits = MUTANTS[mutation]
    mutant = load_copy(name, *edits)
    with pytest.raises((AssertionError, HeadraceError)):  # noqa: PT012 -- any of the checks may be the one
        for check in checks:
            check(mutant)


def test_no_wake_up_is_lost():
    check_doorbell(load_copy(DOORBELL))


@pytest.mark.parametrize("mutation", DOORBELL_MUTANTS)
def test_a_mutated_doorbell_is_caught(mutation):
    with pytest.raises(AssertionError, match="sleeps for ever"):
        check_doorbell(load_copy(DOORBELL, DOORBELL_MUTANTS[mutation]))


def test_the_partition_worker_looks_again_before_it_sleeps():
    check_nap(load_copy(DOORBELL), load_copy(WORKER))


def test_the_housekeeper_looks_again_before_it_sleeps():
    check_nap(load_copy(DOORBELL), load_copy(HOUSEKEEPER), "Housekeeper")


def test_a_housekeeper_that_parks_without_looking_again_is_caught():
    edit = ("if not housekeeper.do_work() and not stop.is_set:", "if not stop.is_set:")
    with pytest.raises(AssertionError, match="sleeps for ever"):
        check_nap(load_copy(DOORBELL), load_copy(HOUSEKEEPER, edit), "Housekeeper")


def test_a_worker_that_parks_without_looking_again_is_caught():
    edit = ("if not worker.do_work() and not stop.is_set:", "if not stop.is_set:")
    with pytest.raises(AssertionError, match="sleeps for ever"):
        check_nap(load_copy(DOORBELL), load_copy(WORKER, edit))
