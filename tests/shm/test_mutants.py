"""The checks would notice: every mutation of the publish path makes one of them fail.

The real modules pass the same checks at the head of each list (no edits).
"""

import pytest

from headrace.errors import HeadraceError
from tests.shm.mutants import load_copy
from tests.shm.order_checks import (
    check_cluster_row_publication,
    check_cluster_row_reading,
    check_doorbell,
    check_journal,
    check_nap,
    check_ring_distrust,
    check_ring_publication,
    check_ring_reuse,
    check_row_publication,
    check_row_reading,
    check_view_publication,
    check_view_reuse,
)
from tests.shm.role_shapes import SHAPES, network_shape_of

pytestmark = pytest.mark.slow

RING = "headrace.shm.ring"
TABLE = "headrace.shm.partition_table"
WRITER = "headrace.shm.view_writer"
READER = "headrace.shm.view_reader"
CLUSTER = "headrace.shm.cluster_table"
DOORBELL = "headrace.shm.doorbell"
DUTY_CYCLE = "headrace.runtime.duty_cycle"
POLLER = "headrace.runtime.poller"
NETWORK = "headrace.workers.network.loop"

RING_CHECKS = (check_ring_publication, check_ring_reuse, check_ring_distrust)
TABLE_CHECKS = (check_row_publication, check_row_reading)
VIEW_CHECKS = (check_view_publication, check_view_reuse)
CLUSTER_CHECKS = (check_cluster_row_publication, check_cluster_row_reading, check_journal)

REAL = {RING: RING_CHECKS, TABLE: TABLE_CHECKS, WRITER: VIEW_CHECKS, READER: VIEW_CHECKS, CLUSTER: CLUSTER_CHECKS}

BIG_ENDIAN_RING = (
    ("store_word(self._words, _TAIL, self._tail)", 'Struct(">Q").pack_into(self._memory, RING_TAIL, self._tail)'),
    ("tail = load_word(words, _TAIL)", 'tail = Struct(">Q").unpack_from(self._memory, RING_TAIL)[0]'),
    ("self._tail = load_word(self._words, _TAIL)", 'self._tail = Struct(">Q").unpack_from(self._memory, RING_TAIL)[0]'),
    ("_check_ends(region)\n        self", "self"),
)
MUTANTS = {
    "ring: commit word first": (
        RING, RING_CHECKS, ("        memory = self._memory\n        copy_in(",
                            "        memory = self._memory\n        self._words[_TAIL] = tail + total\n        copy_in("),
    ),
    "ring: tail stored between header and payload": (
        RING, RING_CHECKS, ("        if payload is not None:\n",
                            "        self._words[_TAIL] = tail + total\n        if payload is not None:\n"),
    ),
    "ring: tail stored before the message word": (
        RING, RING_CHECKS, ("        store_word(self._words, _DATA_WORD + (place >> 3), length | kind << 32)\n",
                            "        self._words[_TAIL] = tail + total\n"
                            "        store_word(self._words, _DATA_WORD + (place >> 3), length | kind << 32)\n"),
    ),
    "ring: tail as >Q": (RING, RING_CHECKS, *BIG_ENDIAN_RING),
    "ring: no padding at the edge": (
        RING, RING_CHECKS, ("store_word(self._words, _DATA_WORD + (place >> 3), to_end - MESSAGE_HEADER_BYTES)", "pass"),
    ),
    "ring: padding not counted": (RING, RING_CHECKS, ("total = needed if needed <= to_end else needed + to_end", "total = needed")),
    "ring: full is not full": (RING, RING_CHECKS, ("self._head > capacity", "self._head > 2 * capacity")),
    "ring: released when polled": (RING, RING_CHECKS, ("        self._head = head\n        return messages",
                                                     "        self._head = self._words[_HEAD] = head\n        return messages")),
    "ring: never released": (RING, RING_CHECKS, ("        store_word(words, _HEAD, self._head)\n", "")),
    "ring: tail believed": (RING, RING_CHECKS, ("if available < 0 or available > capacity or tail & 7:", "if False:"),
                            ("if size > tail - head or place + size > capacity:", "if place + size > capacity:")),
    "ring: lengths believed": (RING, RING_CHECKS, ("if size > tail - head or place + size > capacity:", "if False:")),
    "ring: kinds believed": (RING, RING_CHECKS, ("if kind > KIND_MAX:", "if False:")),
    "row: even store first": (TABLE, TABLE_CHECKS, ("        store_word(words, base, sequence)\n", "        words[base] = sequence + 1\n")),
    "row: even store before the fields": (
        TABLE, TABLE_CHECKS,
        ("        store_word(words, base, sequence)\n", "        words[base] = sequence\n        words[base] = sequence + 1\n"),
    ),
    "row: no odd store": (TABLE, TABLE_CHECKS, ("        store_word(words, base, sequence)\n", "")),
    "row: stays odd": (TABLE, TABLE_CHECKS, ("        store_word(words, base, sequence + 1)\n", "")),
    "row: reader takes odd rows": (TABLE, TABLE_CHECKS, ("if sequence & 1:", "if False:")),
    "row: reader does not look again": (TABLE, TABLE_CHECKS, ("if load_word(words, base) == sequence:", "if True:")),
    "view: version first": (
        WRITER, VIEW_CHECKS, ("        store_word(words, first, publication.flips)\n",
                              "        words[VIEW_VERSION] = publication.version\n        words[first] = publication.flips\n"),
    ),
    "view: version before the block": (
        WRITER, VIEW_CHECKS, ("        start = self._halves_start + (flips & 1) * self._half_bytes + end\n",
                              "        self._announce(Publication(delta.version, flips, end + len(block), changes))\n"
                              "        start = self._halves_start + (flips & 1) * self._half_bytes + end\n"),
    ),
    "view: one descriptor": (
        WRITER, VIEW_CHECKS, ("VIEW_DESCRIPTORS + (publication.version & 1) * VIEW_DESCRIPTOR_WORDS", "VIEW_DESCRIPTORS"),
    ),
    "view: blocks over each other": (
        WRITER, VIEW_CHECKS, ("(flips & 1) * self._half_bytes + end\n", "(flips & 1) * self._half_bytes\n"),
    ),
    "view: one half": (WRITER, VIEW_CHECKS, ("(flips & 1) * self._half_bytes", "0 * self._half_bytes")),
    "view: version as >Q": (
        WRITER, VIEW_CHECKS,
        ("        store_word(words, VIEW_VERSION, publication.version)\n",
         '        Struct(">Q").pack_into(self._region.memory, VIEW_VERSION * 8, publication.version)\n'),
    ),
    "view: what was claimed is not asked for": (
        WRITER, VIEW_CHECKS, ("if self._table.claimed() > self._published.changes:", "if False:"),
    ),
    "view: rows are not noted": (
        WRITER, VIEW_CHECKS,
        ("        table.note(self._published.changes, [row for row, _fields in plan.rows])\n", ""),
    ),
    "view: rows are used again at once": (
        WRITER, VIEW_CHECKS,
        ("        free = iter(self._free.peek(wanted))\n",
         "        free = iter([*(row for name, entry in self._entries.items() if all(one.name != name for one in others) "
         "for row in entry.rows), *self._free.peek(wanted)])\n"),
    ),
    "view: rows of other topics are believed": (
        READER, VIEW_CHECKS, ("(row.incarnation, row.index) != (entry.incarnation, index)", "False"),
    ),
    "view: other halves are read on": (READER, VIEW_CHECKS, ("flips == self._seen.flips and", "")),
    "view: the journal is not read": (READER, VIEW_CHECKS, ("            self._note_row(row)\n", "            pass\n")),
    "view: the far behind read on": (READER, VIEW_CHECKS, ("        if rows is None:\n", "        if rows is None:\n            return\n")),
    "cluster row: sequence first": (
        CLUSTER, CLUSTER_CHECKS, ("        place = start + WORD + (sequence & 1)",
                                  "        words[start // WORD] = sequence\n        place = start + WORD + (sequence & 1)"),
    ),
    "cluster row: one copy": (CLUSTER, CLUSTER_CHECKS, ("(sequence & 1) * _COPY_BYTES", "0 * _COPY_BYTES")),
    "cluster row: reader does not look again": (CLUSTER, CLUSTER_CHECKS, ("if words[base] == sequence:", "if True:")),
    "journal: claimed last": (
        CLUSTER, CLUSTER_CHECKS, ("        self._words[VIEW_CLAIMED] = claimed\n        return claimed\n", "        return claimed\n"),
        ("        words, mask = self._words, self.entries - 1\n        for place",
         "        words, mask = self._words, self.entries - 1\n"
         "        words[VIEW_CLAIMED] = changes if changes + len(rows) <= self.entries else changes\n        for place"),
    ),
    "journal: overtaken readers go on": (CLUSTER, CLUSTER_CHECKS, ("if words[VIEW_CLAIMED] - since > self.entries or any", "if any")),
    "journal: rows believed": (CLUSTER, CLUSTER_CHECKS, (" or any(row >= self.rows for row in rows)", "")),
}  # fmt: skip

DOORBELL_MUTANTS = {
    "park without a fence": ("store_word(self._words, self._parked, 1)\n        fence()", "self._words[self._parked] = 1"),
    "park fences before it stores": (
        "store_word(self._words, self._parked, 1)\n        fence()", "fence()\n        self._words[self._parked] = 1",
    ),
    "ring without a fence": ("        fence()\n        if load_word(self._words", "        if load_word(self._words"),
    "ring never": ("os.eventfd_write(self.fd, 1)", "pass"),
    "park is not announced": ("store_word(self._words, self._parked, 1)", "pass"),
}  # fmt: skip

DUTY_CYCLE_MUTANTS = {
    "parks without looking again": ("0 if self._process.look_again() else ", ""),
    "looks before it is parked": (
        "        doorbell.park()\n        bound_ms = 0 if self._process.look_again() else self._process.sleep_bound_ms()\n",
        "        bound_ms = 0 if self._process.look_again() else self._process.sleep_bound_ms()\n        doorbell.park()\n",
    ),
    "sleeps without being parked": ("        doorbell.park()\n", ""),
}  # fmt: skip

LOOK_MUTANTS = {
    "not at the rings": ("return self.take_answers() + (", "return 0 + ("),
    "not at the view": (" + (self._seat.view.version() != self._context.view_version)", ""),
}


@pytest.mark.parametrize(
    ("name", "checks"),
    [
        (RING, RING_CHECKS),
        (TABLE, TABLE_CHECKS),
        (WRITER, VIEW_CHECKS),
        (READER, VIEW_CHECKS),
        (CLUSTER, CLUSTER_CHECKS),
    ],
)
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


@pytest.mark.parametrize("spin_us", [0, 1])
@pytest.mark.parametrize("role", SHAPES)
def test_every_role_looks_again_before_it_sleeps(role, spin_us):
    check_nap(load_copy(DOORBELL), load_copy(DUTY_CYCLE), load_copy(POLLER), SHAPES[role], spin_us)


@pytest.mark.parametrize("spin_us", [0, 1])
@pytest.mark.parametrize("role", SHAPES)
@pytest.mark.parametrize("mutation", DUTY_CYCLE_MUTANTS)
def test_a_mutated_duty_cycle_is_caught(role, mutation, spin_us):
    mutant = load_copy(DUTY_CYCLE, DUTY_CYCLE_MUTANTS[mutation])
    with pytest.raises(AssertionError, match="sleeps for ever"):
        check_nap(load_copy(DOORBELL), mutant, load_copy(POLLER), SHAPES[role], spin_us)


@pytest.mark.parametrize("mutation", LOOK_MUTANTS)
def test_a_network_worker_that_looks_at_less_is_caught(mutation):
    mutant = network_shape_of(load_copy(NETWORK, LOOK_MUTANTS[mutation]).NetworkLoop)
    with pytest.raises(AssertionError, match="sleeps for ever"):
        check_nap(load_copy(DOORBELL), load_copy(DUTY_CYCLE), load_copy(POLLER), mutant)
